# drawn with: gnuplot curves.gp
$steps0 << EOD
400 5.8576 5.8570 5.8570 5.8570
800 11.715 5.0402 5.0402 5.0402
1200 17.573 4.7118 4.7118 4.7118
EOD
$lengths0 << EOD
EOD
$steps1 << EOD
400 5.6604 5.9618 5.9618 5.9618
800 11.321 5.2298 5.2298 5.2298
1200 16.981 4.9523 4.9523 4.9523
EOD
$lengths1 << EOD
EOD
set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'
set output 'curves.svg'
set multiplot layout 1,3 title 'Translation, RoPE against sinusoidal positions (paper, section 4.1): 306,000 pairs of seven kinds of text, 3 + 3 layers of 256'
set grid
unset key
set ylabel 'held-out loss (nats)'
set xlabel 'step'
plot $steps0 using 1:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 1:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle
set xlabel 'minutes, at the fastest rate of the log'
plot $steps0 using 2:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 2:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle
unset logscale
unset grid
unset border
unset tics
unset xlabel
unset ylabel
set xrange [0:1]
set yrange [0:1]
set key at graph 0, graph 1 left top Left reverse samplen 2 maxcols 1
plot NaN with lines linetype 1 dashtype 1 linewidth 1.5 title 'rotary  4.71', \
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'sinusoidal  4.95'
unset multiplot
