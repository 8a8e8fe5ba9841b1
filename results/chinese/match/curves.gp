# drawn with: gnuplot curves.gp
$steps0 << EOD
250 3.813 0.4844 0.4458 0.5383
EOD
$lengths0 << EOD
1024 0.4917
EOD
$steps1 << EOD
250 4.1014 0.5924 0.5924 0.5924
EOD
$lengths1 << EOD
512 0.6124
EOD
$steps2 << EOD
250 1.8432 0.6261 0.6140 0.6416
EOD
$lengths2 << EOD
512 0.6258
EOD
$steps3 << EOD
250 0.99628 0.6567 0.6567 0.6567
EOD
$lengths3 << EOD
128 0.6499
EOD
set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'
set output 'curves.svg'
set multiplot layout 1,4 title 'Which of two halves belongs to an article: lengths beside 512 tokens, models of words (paper, section 4.5.3, Table 5)'
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
plot NaN with lines linetype 1 dashtype 1 linewidth 1.5 title 'roformer_1024  0.48 (mean)', \
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'wobert_512  0.59', \
     NaN with lines linetype 3 dashtype 1 linewidth 1.5 title 'roformer_512  0.63 (mean)', \
     NaN with lines linetype 4 dashtype 1 linewidth 1.5 title 'roformer_128  0.66'
unset multiplot
