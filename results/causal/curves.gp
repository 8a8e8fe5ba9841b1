# drawn with: gnuplot curves.gp
$steps0 << EOD
200 1.3033 6.1821 6.1821 6.1821
400 2.6065 5.7123 5.7123 5.7123
600 3.9098 5.4899 5.4899 5.4899
800 5.213 5.3703 5.3703 5.3703
1000 6.5163 5.3234 5.3234 5.3234
EOD
$lengths0 << EOD
128 5.3652
256 5.3545
512 5.3495
1024 5.3485
EOD
$steps1 << EOD
200 1.1493 6.1791 6.1791 6.1791
400 2.2986 5.7150 5.7150 5.7150
600 3.4479 5.4876 5.4876 5.4876
800 4.5972 5.3723 5.3723 5.3723
1000 5.7466 5.3248 5.3248 5.3248
EOD
$lengths1 << EOD
128 5.3641
256 5.3613
512 5.3791
1024 5.3974
EOD
$steps2 << EOD
200 1.1359 6.1996 6.1794 6.2165
400 2.2717 5.7270 5.7163 5.7388
600 3.4076 5.5001 5.4885 5.5116
800 4.5434 5.3816 5.3735 5.3891
1000 5.6793 5.3348 5.3261 5.3425
EOD
$lengths2 << EOD
128 5.3777
256 5.3865
512 5.4397
1024 5.5088
EOD
$steps3 << EOD
200 1.4504 6.1713 6.1713 6.1713
400 2.9008 5.7157 5.7157 5.7157
600 4.3513 5.5008 5.5008 5.5008
800 5.8017 5.3864 5.3864 5.3864
1000 7.2521 5.3396 5.3396 5.3396
EOD
$lengths3 << EOD
128 5.3739
256 5.3668
512 5.3644
1024 5.3645
EOD
$steps4 << EOD
200 1.1721 6.2084 6.1882 6.2235
400 2.3443 5.7526 5.7439 5.7634
600 3.5164 5.5327 5.5245 5.5476
800 4.6886 5.4168 5.4113 5.4269
1000 5.8607 5.3717 5.3645 5.3828
EOD
$lengths4 << EOD
128 5.4102
256 5.4007
512 5.3960
1024 5.3937
EOD
$steps5 << EOD
200 1.2258 6.2279 6.2193 6.2345
400 2.4515 5.8078 5.7985 5.8171
600 3.6773 5.5953 5.5855 5.6104
800 4.903 5.4786 5.4697 5.4928
1000 6.1288 5.4320 5.4221 5.4463
EOD
$lengths5 << EOD
128 5.4705
256 5.4827
512 5.5128
1024 5.5446
EOD
$steps6 << EOD
200 1.2124 6.2203 6.2203 6.2203
400 2.4248 5.8116 5.8116 5.8116
600 3.6372 5.5986 5.5986 5.5986
800 4.8496 5.4865 5.4865 5.4865
1000 6.062 5.4402 5.4402 5.4402
EOD
$lengths6 << EOD
128 5.4785
256 5.4876
512 5.5148
1024 5.5459
EOD
$steps7 << EOD
200 1.1874 6.2357 6.2192 6.2455
400 2.3747 5.8176 5.8119 5.8274
600 3.5621 5.6037 5.5952 5.6173
800 4.7495 5.4904 5.4833 5.4987
1000 5.9368 5.4447 5.4380 5.4535
EOD
$lengths7 << EOD
128 5.4840
256 5.4951
512 5.5235
1024 5.5520
EOD
$steps8 << EOD
200 1.1168 6.3268 6.3136 6.3365
400 2.2337 5.8814 5.8679 5.8982
600 3.3505 5.6484 5.6333 5.6636
800 4.4673 5.5235 5.5120 5.5318
1000 5.5842 5.4755 5.4641 5.4848
EOD
$lengths8 << EOD
128 5.5162
256 5.6280
512 5.6926
1024 5.7304
EOD
$steps9 << EOD
200 1.1637 6.4058 6.4058 6.4058
400 2.3274 5.9249 5.9249 5.9249
600 3.4911 5.6904 5.6904 5.6904
800 4.6548 5.5672 5.5672 5.5672
1000 5.8185 5.5179 5.5179 5.5179
EOD
$lengths9 << EOD
128 5.5527
256 5.7904
512 6.0476
1024 6.2650
EOD
set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'
set output 'curves.svg'
set multiplot layout 1,4 title 'Position encodings in the same causal model: every token guesses the next one (claim (a))'
set grid
unset key
set ylabel 'held-out loss (nats)'
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
plot NaN with lines linetype 1 dashtype 1 linewidth 1.5 title 'causal_transformer_xl  5.32', \
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'causal_xpos  5.32', \
     NaN with lines linetype 3 dashtype 1 linewidth 1.5 title 'causal_rotary  5.33 (mean)', \
     NaN with lines linetype 4 dashtype 1 linewidth 1.5 title 'causal_sandwich  5.34', \
     NaN with lines linetype 5 dashtype 1 linewidth 1.5 title 'causal_alibi  5.37 (mean)', \
     NaN with lines linetype 6 dashtype 1 linewidth 1.5 title 'causal_t5  5.43 (mean)', \
     NaN with lines linetype 7 dashtype 1 linewidth 1.5 title 'causal_kerple_log  5.44', \
     NaN with lines linetype 8 dashtype 1 linewidth 1.5 title 'causal_none  5.44 (mean)', \
     NaN with lines linetype 1 dashtype 2 linewidth 1.5 title 'causal_learned  5.48 (mean)', \
     NaN with lines linetype 2 dashtype 2 linewidth 1.5 title 'causal_sinusoidal_scaled  5.52'
unset multiplot
