# drawn with: gnuplot curves.gp
$steps0 << EOD
250 0.27593 3.5021 3.5021 3.5021
500 0.55185 3.1127 3.1127 3.1127
750 0.82778 2.9165 2.9165 2.9165
1000 1.1037 2.7725 2.7725 2.7725
1250 1.3796 2.6838 2.6838 2.6838
1500 1.6556 2.6373 2.6373 2.6373
1750 1.9315 2.5560 2.5560 2.5560
2000 2.2074 2.5230 2.5230 2.5230
EOD
$lengths0 << EOD
1024 2.6292
4096 3.3866
EOD
$steps1 << EOD
250 0.26113 3.7219 3.7219 3.7219
500 0.52226 3.6836 3.6836 3.6836
750 0.78338 3.6371 3.6371 3.6371
1000 1.0445 3.5580 3.5580 3.5580
1250 1.3056 3.5182 3.5182 3.5182
1500 1.5668 3.4712 3.4712 3.4712
1750 1.8279 3.4339 3.4339 3.4339
2000 2.089 3.4071 3.4071 3.4071
EOD
$lengths1 << EOD
1024 3.4061
4096 3.6729
EOD
$steps2 << EOD
250 0.25077 3.7250 3.7250 3.7250
500 0.50155 3.6636 3.6636 3.6636
750 0.75232 3.5965 3.5965 3.5965
1000 1.0031 3.5306 3.5306 3.5306
1250 1.2539 3.5061 3.5061 3.5061
1500 1.5046 3.4676 3.4676 3.4676
1750 1.7554 3.4415 3.4415 3.4415
2000 2.0062 3.4199 3.4199 3.4199
EOD
$lengths2 << EOD
1024 3.4199
4096 3.7042
EOD
$steps3 << EOD
250 0.12361 3.7219 3.7219 3.7219
500 0.24723 3.6855 3.6855 3.6855
750 0.37084 3.6561 3.6561 3.6561
1000 0.49445 3.5766 3.5766 3.5766
1250 0.61807 3.5372 3.5372 3.5372
1500 0.74168 3.4916 3.4916 3.4916
1750 0.86529 3.4479 3.4479 3.4479
2000 0.9889 3.4248 3.4248 3.4248
EOD
$lengths3 << EOD
1024 3.4224
4096 3.6967
EOD
$steps4 << EOD
250 0.18868 3.7221 3.7221 3.7221
500 0.37735 3.6699 3.6699 3.6699
750 0.56603 3.6244 3.6244 3.6244
1000 0.7547 3.5678 3.5678 3.5678
1250 0.94338 3.5300 3.5300 3.5300
1500 1.1321 3.4919 3.4919 3.4919
1750 1.3207 3.4614 3.4614 3.4614
2000 1.5094 3.4402 3.4402 3.4402
EOD
$lengths4 << EOD
1024 3.4372
4096 3.6336
EOD
$steps5 << EOD
250 0.2347 3.7246 3.7246 3.7246
500 0.4694 3.6613 3.6613 3.6613
750 0.70409 3.6106 3.6106 3.6106
1000 0.93879 3.5536 3.5536 3.5536
1250 1.1735 3.5447 3.5447 3.5447
1500 1.4082 3.5126 3.5126 3.5126
1750 1.6429 3.4915 3.4915 3.4915
2000 1.8776 3.4751 3.4751 3.4751
EOD
$lengths5 << EOD
1024 3.4719
4096 3.6674
EOD
$steps6 << EOD
250 0.11898 3.7227 3.7227 3.7227
500 0.23797 3.6875 3.6875 3.6875
750 0.35695 3.6598 3.6598 3.6598
1000 0.47593 3.6083 3.6083 3.6083
1250 0.59491 3.5894 3.5894 3.5894
1500 0.7139 3.5597 3.5597 3.5597
1750 0.83288 3.5377 3.5377 3.5377
2000 0.95186 3.5225 3.5225 3.5225
EOD
$lengths6 << EOD
1024 3.5174
4096 3.6430
EOD
$steps7 << EOD
250 0.24132 3.7281 3.7281 3.7281
500 0.48265 3.7019 3.7019 3.7019
750 0.72397 3.6864 3.6864 3.6864
1000 0.9653 3.6566 3.6566 3.6566
1250 1.2066 3.6521 3.6521 3.6521
1500 1.4479 3.6440 3.6440 3.6440
1750 1.6893 3.6299 3.6299 3.6299
2000 1.9306 3.6218 3.6218 3.6218
EOD
$lengths7 << EOD
1024 3.6140
4096 3.6282
EOD
$steps8 << EOD
250 0.24036 3.7291 3.7291 3.7291
500 0.48071 3.7018 3.7018 3.7018
750 0.72107 3.6900 3.6900 3.6900
1000 0.96143 3.6573 3.6573 3.6573
1250 1.2018 3.6559 3.6559 3.6559
1500 1.4421 3.6469 3.6469 3.6469
1750 1.6825 3.6317 3.6317 3.6317
2000 1.9229 3.6222 3.6222 3.6222
EOD
$lengths8 << EOD
1024 3.6154
4096 3.6293
EOD
$steps9 << EOD
250 0.2863 3.7258 3.7258 3.7258
500 0.57261 3.6986 3.6986 3.6986
750 0.85891 3.6838 3.6838 3.6838
1000 1.1452 3.6539 3.6539 3.6539
1250 1.4315 3.6539 3.6539 3.6539
1500 1.7178 3.6422 3.6422 3.6422
1750 2.0041 3.6312 3.6312 3.6312
2000 2.2904 3.6228 3.6228 3.6228
EOD
$lengths9 << EOD
1024 3.6163
4096 3.6291
EOD
set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'
set output 'curves.svg'
set multiplot layout 1,4 title 'Feature maps, their number of features, and softmax attention, in the same byte language model (Eq. 19)'
set grid
unset key
set ylabel 'held-out loss (bits per character)'
set xlabel 'step'
plot $steps0 using 1:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 1:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $steps2 using 1:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps2 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle, \
     $steps3 using 1:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps3 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 1 linewidth 1.5 notitle, \
     $steps4 using 1:4:5 with filledcurves linetype 5 fillstyle transparent solid 0.15 noborder notitle, $steps4 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 1 linewidth 1.5 notitle, \
     $steps5 using 1:4:5 with filledcurves linetype 6 fillstyle transparent solid 0.15 noborder notitle, $steps5 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 1 linewidth 1.5 notitle, \
     $steps6 using 1:4:5 with filledcurves linetype 7 fillstyle transparent solid 0.15 noborder notitle, $steps6 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 1 linewidth 1.5 notitle, \
     $steps7 using 1:4:5 with filledcurves linetype 8 fillstyle transparent solid 0.15 noborder notitle, $steps7 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 1 linewidth 1.5 notitle, \
     $steps8 using 1:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps8 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 2 linewidth 1.5 notitle, \
     $steps9 using 1:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps9 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 2 linewidth 1.5 notitle
set xlabel 'minutes, at the fastest rate of the log'
plot $steps0 using 2:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 2:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $steps2 using 2:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps2 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle, \
     $steps3 using 2:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps3 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 1 linewidth 1.5 notitle, \
     $steps4 using 2:4:5 with filledcurves linetype 5 fillstyle transparent solid 0.15 noborder notitle, $steps4 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 1 linewidth 1.5 notitle, \
     $steps5 using 2:4:5 with filledcurves linetype 6 fillstyle transparent solid 0.15 noborder notitle, $steps5 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 1 linewidth 1.5 notitle, \
     $steps6 using 2:4:5 with filledcurves linetype 7 fillstyle transparent solid 0.15 noborder notitle, $steps6 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 1 linewidth 1.5 notitle, \
     $steps7 using 2:4:5 with filledcurves linetype 8 fillstyle transparent solid 0.15 noborder notitle, $steps7 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 1 linewidth 1.5 notitle, \
     $steps8 using 2:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps8 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 2 linewidth 1.5 notitle, \
     $steps9 using 2:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps9 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 2 linewidth 1.5 notitle
set logscale x 2
set xlabel 'length of texts (tokens)'
plot $lengths0 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $lengths1 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $lengths2 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle, \
     $lengths3 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 1 linewidth 1.5 notitle, \
     $lengths4 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 1 linewidth 1.5 notitle, \
     $lengths5 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 1 linewidth 1.5 notitle, \
     $lengths6 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 1 linewidth 1.5 notitle, \
     $lengths7 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 1 linewidth 1.5 notitle, \
     $lengths8 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 2 linewidth 1.5 notitle, \
     $lengths9 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 2 linewidth 1.5 notitle
unset logscale
unset grid
unset border
unset tics
unset xlabel
unset ylabel
set xrange [0:1]
set yrange [0:1]
set key at graph 0, graph 1 left top Left reverse samplen 2 maxcols 1
plot NaN with lines linetype 1 dashtype 1 linewidth 1.5 title 'softmax_rotary  2.52', \
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'linear_eq19  3.41', \
     NaN with lines linetype 3 dashtype 1 linewidth 1.5 title 'relu_128  3.42', \
     NaN with lines linetype 4 dashtype 1 linewidth 1.5 title 'shen  3.42', \
     NaN with lines linetype 5 dashtype 1 linewidth 1.5 title 'elu  3.44', \
     NaN with lines linetype 6 dashtype 1 linewidth 1.5 title 'relu_64  3.48', \
     NaN with lines linetype 7 dashtype 1 linewidth 1.5 title 'squared_relu  3.52', \
     NaN with lines linetype 8 dashtype 1 linewidth 1.5 title 'favor_64  3.62', \
     NaN with lines linetype 1 dashtype 2 linewidth 1.5 title 'favor_redrawn  3.62', \
     NaN with lines linetype 2 dashtype 2 linewidth 1.5 title 'favor_128  3.62'
unset multiplot
