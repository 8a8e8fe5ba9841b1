# drawn with: gnuplot curves.gp
$steps0 << EOD
300 1.4295 6.6514 6.5552 6.7514
600 2.859 6.1067 6.0078 6.2739
900 4.2886 5.7572 5.6718 5.8581
1200 5.7181 5.6032 5.5314 5.6830
EOD
$lengths0 << EOD
128 5.5804
512 5.5963
1024 5.5616
2048 5.7251
EOD
$steps1 << EOD
300 1.7249 6.7475 6.7475 6.7475
600 3.4497 6.2385 6.2385 6.2385
900 5.1746 5.9010 5.9010 5.9010
1200 6.8995 5.7259 5.7259 5.7259
EOD
$lengths1 << EOD
128 5.7449
512 5.7484
1024 5.6778
2048 5.7182
EOD
$steps2 << EOD
300 1.4471 6.9530 6.9339 6.9659
600 2.8942 6.6283 6.6268 6.6307
900 4.3413 6.4962 6.4668 6.5211
1200 5.7884 6.4246 6.4070 6.4412
EOD
$lengths2 << EOD
128 6.4850
512 6.5246
1024 6.4858
2048 6.5231
EOD
set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'
set output 'curves.svg'
set multiplot layout 1,4 title 'Chinese words: rotary, learned (WoBERT''s) and NEZHA''s positions, masked-LM, one schedule (paper, section 4.5, Tables 3 and 4)'
set grid
unset key
set ylabel 'held-out loss (nats)'
set xlabel 'step'
plot $steps0 using 1:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 1:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $steps2 using 1:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps2 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle
set xlabel 'minutes, at the fastest rate of the log'
plot $steps0 using 2:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 2:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $steps2 using 2:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps2 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle
set logscale x 2
set xlabel 'length of texts (tokens)'
plot $lengths0 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $lengths1 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $lengths2 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle
unset logscale
unset grid
unset border
unset tics
unset xlabel
unset ylabel
set xrange [0:1]
set yrange [0:1]
set key at graph 0, graph 1 left top Left reverse samplen 2 maxcols 1
plot NaN with lines linetype 1 dashtype 1 linewidth 1.5 title 'roformer  5.60 (mean)', \
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'nezha  5.73', \
     NaN with lines linetype 3 dashtype 1 linewidth 1.5 title 'wobert  6.42 (mean)'
unset multiplot
