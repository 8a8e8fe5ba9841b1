# drawn with: gnuplot curves.gp
$steps0 << EOD
500 2.5179 3.3392 3.3181 3.3732
1000 5.0358 2.5959 2.5857 2.6033
1500 7.5537 2.3684 2.3513 2.3826
EOD
$lengths0 << EOD
EOD
$steps1 << EOD
500 4.1382 3.4805 3.4805 3.4805
1000 8.2763 2.7449 2.7449 2.7449
1500 12.415 2.5011 2.5011 2.5011
EOD
$lengths1 << EOD
EOD
$steps2 << EOD
500 2.4719 3.5728 3.5464 3.6013
1000 4.9438 2.8191 2.8114 2.8283
1500 7.4157 2.5691 2.5600 2.5856
EOD
$lengths2 << EOD
EOD
$steps3 << EOD
500 2.5356 3.5954 3.5838 3.6063
1000 5.0712 2.8744 2.8664 2.8849
1500 7.6067 2.6124 2.5989 2.6225
EOD
$lengths3 << EOD
EOD
$steps4 << EOD
500 3.7243 4.4206 4.4206 4.4206
1000 7.4487 3.9163 3.9163 3.9163
1500 11.173 3.6977 3.6977 3.6977
EOD
$lengths4 << EOD
EOD
set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'
set output 'curves.svg'
set multiplot layout 1,3 title 'Translation, RoPE against other positions (paper, section 4.1): Multi30k English-German, 3 + 3 layers of 256'
set grid
unset key
set ylabel 'held-out loss (nats)'
set xlabel 'step'
plot $steps0 using 1:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 1:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $steps2 using 1:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps2 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle, \
     $steps3 using 1:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps3 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 1 linewidth 1.5 notitle, \
     $steps4 using 1:4:5 with filledcurves linetype 5 fillstyle transparent solid 0.15 noborder notitle, $steps4 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 1 linewidth 1.5 notitle
set xlabel 'minutes, at the fastest rate of the log'
plot $steps0 using 2:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 2:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $steps2 using 2:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps2 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle, \
     $steps3 using 2:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps3 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 1 linewidth 1.5 notitle, \
     $steps4 using 2:4:5 with filledcurves linetype 5 fillstyle transparent solid 0.15 noborder notitle, $steps4 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 1 linewidth 1.5 notitle
unset logscale
unset grid
unset border
unset tics
unset xlabel
unset ylabel
set xrange [0:1]
set yrange [0:1]
set key at graph 0, graph 1 left top Left reverse samplen 2 maxcols 1
plot NaN with lines linetype 1 dashtype 1 linewidth 1.5 title 'rotary  2.37 (mean)', \
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'alibi  2.50', \
     NaN with lines linetype 3 dashtype 1 linewidth 1.5 title 'sinusoidal  2.57 (mean)', \
     NaN with lines linetype 4 dashtype 1 linewidth 1.5 title 'learned  2.61 (mean)', \
     NaN with lines linetype 5 dashtype 1 linewidth 1.5 title 't5  3.70'
unset multiplot
