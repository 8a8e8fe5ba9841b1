# drawn with: gnuplot curves.gp
$steps0 << EOD
200 0.70137 6.6022 6.5620 6.6425
400 1.4027 5.8717 5.6666 6.0377
600 2.1041 5.5734 5.4542 5.6657
800 2.8055 5.4113 5.3222 5.4939
1000 3.5068 5.3445 5.2652 5.4203
EOD
$lengths0 << EOD
128 5.3896
256 5.3915
512 5.4703
1024 6.0909
EOD
$steps1 << EOD
200 0.69588 6.8993 6.8906 6.9059
400 1.3918 6.7004 6.6909 6.7114
600 2.0876 6.6133 6.6034 6.6261
800 2.7835 6.5645 6.5588 6.5722
1000 3.4794 6.5439 6.5388 6.5519
EOD
$lengths1 << EOD
128 6.5931
256 6.6014
512 6.6079
1024 6.6050
EOD
$steps2 << EOD
200 0.66842 6.9911 6.9791 7.0068
400 1.3368 6.7549 6.7494 6.7608
600 2.0053 6.6543 6.6439 6.6626
800 2.6737 6.6022 6.5923 6.6116
1000 3.3421 6.5810 6.5700 6.5916
EOD
$lengths2 << EOD
128 6.6299
256 6.6841
512 6.7286
1024 6.7500
EOD
$steps3 << EOD
200 0.69824 7.0523 7.0427 7.0682
400 1.3965 7.0247 7.0137 7.0392
600 2.0947 6.9872 6.9676 7.0125
800 2.793 6.9555 6.9390 6.9793
1000 3.4912 6.9416 6.9216 6.9660
EOD
$lengths3 << EOD
128 6.9806
256 7.0243
512 7.2374
1024 7.4473
EOD
set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'
set output 'curves.svg'
set multiplot layout 1,4 title 'Masked-LM pre-training, RoFormer against BERT''s positions (paper, section 4.2, Figure 3 left)'
set grid
unset key
set ylabel 'held-out loss (nats)'
set xlabel 'step'
plot $steps0 using 1:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 1:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $steps2 using 1:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps2 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle, \
     $steps3 using 1:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps3 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 1 linewidth 1.5 notitle
set xlabel 'minutes, at the fastest rate of the log'
plot $steps0 using 2:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 2:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $steps2 using 2:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps2 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle, \
     $steps3 using 2:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps3 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 1 linewidth 1.5 notitle
set logscale x 2
set xlabel 'length of texts (tokens)'
plot $lengths0 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $lengths1 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $lengths2 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle, \
     $lengths3 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 1 linewidth 1.5 notitle
unset logscale
unset grid
unset border
unset tics
unset xlabel
unset ylabel
set xrange [0:1]
set yrange [0:1]
set key at graph 0, graph 1 left top Left reverse samplen 2 maxcols 1
plot NaN with lines linetype 1 dashtype 1 linewidth 1.5 title 'rotary  5.34 (mean)', \
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'learned  6.54 (mean)', \
     NaN with lines linetype 3 dashtype 1 linewidth 1.5 title 'sinusoidal_scaled  6.58 (mean)', \
     NaN with lines linetype 4 dashtype 1 linewidth 1.5 title 'sinusoidal  6.94 (mean)'
unset multiplot
