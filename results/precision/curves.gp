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
200 1.283 6.5634 6.5634 6.5634
400 2.5661 5.9144 5.9144 5.9144
600 3.8491 5.6021 5.6021 5.6021
800 5.1321 5.4199 5.4199 5.4199
1000 6.4152 5.3494 5.3494 5.3494
EOD
$lengths1 << EOD
128 5.3947
256 5.3978
512 5.4810
1024 6.1061
EOD
set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'
set output 'curves.svg'
set multiplot layout 1,4 title 'Pre-training in bf16 (first row) against f32, all else equal'
set grid
unset key
set ylabel 'held-out loss (nats)'
set xlabel 'step'
plot $steps0 using 1:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 1:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle
set xlabel 'minutes, at the fastest rate of the log'
plot $steps0 using 2:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 2:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle
set logscale x 2
set xlabel 'length of texts (tokens)'
plot $lengths0 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $lengths1 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle
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
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'rotary_f32  5.35'
unset multiplot
