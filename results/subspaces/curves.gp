# drawn with: gnuplot curves.gp
$steps0 << EOD
500 0.34903 4.3144 4.3080 4.3178
1000 0.69805 4.0802 4.0704 4.0875
1500 1.0471 3.9308 3.9208 3.9453
2000 1.3961 3.8604 3.8568 3.8668
EOD
$lengths0 << EOD
128 4.2179
EOD
$steps1 << EOD
500 0.54345 4.3309 4.3231 4.3411
1000 1.0869 4.1027 4.0990 4.1061
1500 1.6303 3.9526 3.9395 3.9657
2000 2.1738 3.8871 3.8766 3.8926
EOD
$lengths1 << EOD
128 4.2372
EOD
$steps2 << EOD
500 0.64009 4.4490 4.4255 4.4644
1000 1.2802 4.1693 4.1602 4.1817
1500 1.9203 3.9988 3.9903 4.0129
2000 2.5603 3.9134 3.8944 3.9365
EOD
$lengths2 << EOD
128 4.2628
EOD
$steps3 << EOD
500 0.43734 5.7447 5.7438 5.7455
1000 0.87468 5.5295 5.1175 5.7362
1500 1.312 5.4595 4.9128 5.7331
2000 1.7494 5.3449 4.8293 5.7300
EOD
$lengths3 << EOD
128 5.4987
EOD
set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'
set output 'curves.svg'
set multiplot layout 1,4 title 'Models with vectors of positions, for the angles between these and words (experiments/subspaces/run.sh)'
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
plot NaN with lines linetype 1 dashtype 1 linewidth 1.5 title 'learned  3.86 (mean)', \
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'sinusoidal_scaled  3.89 (mean)', \
     NaN with lines linetype 3 dashtype 1 linewidth 1.5 title 'concat  3.91 (mean)', \
     NaN with lines linetype 4 dashtype 1 linewidth 1.5 title 'sinusoidal  5.34 (mean)'
unset multiplot
