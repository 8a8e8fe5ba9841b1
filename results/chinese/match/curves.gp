# drawn with: gnuplot curves.gp
$steps0 << EOD
250 7.373 0.3975 0.3975 0.3975
EOD
$lengths0 << EOD
2048 0.3988
EOD
$steps1 << EOD
250 3.6769 0.5098 0.4458 0.5907
EOD
$lengths1 << EOD
1024 0.5187
EOD
$steps2 << EOD
250 4.5864 0.5129 0.5129 0.5129
EOD
$lengths2 << EOD
1024 0.5393
EOD
$steps3 << EOD
250 4.6902 0.5301 0.5301 0.5301
EOD
$lengths3 << EOD
1024 0.5340
EOD
$steps4 << EOD
250 4.1014 0.5924 0.5924 0.5924
EOD
$lengths4 << EOD
512 0.6124
EOD
$steps5 << EOD
250 1.8376 0.6234 0.6139 0.6416
EOD
$lengths5 << EOD
512 0.6316
EOD
$steps6 << EOD
250 0.29965 0.6496 0.6496 0.6496
EOD
$lengths6 << EOD
128 0.6630
EOD
$steps7 << EOD
250 0.28644 0.6512 0.6362 0.6607
EOD
$lengths7 << EOD
128 0.6479
EOD
$steps8 << EOD
250 2.3344 0.6614 0.6614 0.6614
EOD
$lengths8 << EOD
512 0.6645
EOD
$steps9 << EOD
250 0.35567 0.6687 0.6687 0.6687
EOD
$lengths9 << EOD
128 0.6714
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
plot NaN with lines linetype 1 dashtype 1 linewidth 1.5 title 'roformer_2048  0.40', \
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'roformer_1024  0.51 (mean)', \
     NaN with lines linetype 3 dashtype 1 linewidth 1.5 title 'wobert_1024  0.51', \
     NaN with lines linetype 4 dashtype 1 linewidth 1.5 title 'nezha_1024  0.53', \
     NaN with lines linetype 5 dashtype 1 linewidth 1.5 title 'wobert_512  0.59', \
     NaN with lines linetype 6 dashtype 1 linewidth 1.5 title 'roformer_512  0.62 (mean)', \
     NaN with lines linetype 7 dashtype 1 linewidth 1.5 title 'wobert_128  0.65', \
     NaN with lines linetype 8 dashtype 1 linewidth 1.5 title 'roformer_128  0.65 (mean)', \
     NaN with lines linetype 1 dashtype 2 linewidth 1.5 title 'nezha_512  0.66', \
     NaN with lines linetype 2 dashtype 2 linewidth 1.5 title 'nezha_128  0.67'
unset multiplot
