# drawn with: gnuplot curves.gp
$steps0 << EOD
300 2.6673 5.5991 5.5991 5.5991
600 5.3346 5.0264 5.0264 5.0264
900 8.0019 4.5765 4.5765 4.5765
1200 10.669 4.4002 4.4002 4.4002
EOD
$lengths0 << EOD
128 4.5836
512 4.5492
1024 4.5706
2048 4.6853
EOD
$steps1 << EOD
300 1.351 5.7579 5.7579 5.7579
600 2.702 5.5492 5.5492 5.5492
900 4.0529 5.4392 5.4392 5.4392
1200 5.4039 5.3879 5.3879 5.3879
EOD
$lengths1 << EOD
128 5.6287
512 5.5975
1024 5.6175
2048 5.6353
EOD
set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'
set output 'curves.svg'
set multiplot layout 1,4 title 'Chinese characters: learned (BERT) and rotary positions, the same text and updates as words.json (paper, section 4.5, Table 3)'
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
plot NaN with lines linetype 1 dashtype 1 linewidth 1.5 title 'roformer_characters  4.40', \
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'bert_characters  5.39'
unset multiplot
