# drawn with: gnuplot curves.gp
$steps0 << EOD
250 0.16778 3.7286 3.7219 3.7395
500 0.33557 3.6707 3.6569 3.6836
750 0.50335 3.6226 3.5900 3.6406
1000 0.67114 3.5531 3.5349 3.5665
1250 0.83892 3.4953 3.4649 3.5182
1500 1.0067 3.4370 3.4107 3.4712
1750 1.1745 3.3963 3.3739 3.4339
2000 1.3423 3.3710 3.3501 3.4071
EOD
$lengths0 << EOD
1024 3.3742
4096 3.6746
EOD
$steps1 << EOD
250 0.11657 3.7334 3.7250 3.7442
500 0.23314 3.6906 3.6844 3.6995
750 0.34971 3.6779 3.6682 3.6848
1000 0.46628 3.6596 3.6556 3.6638
1250 0.58284 3.6433 3.6307 3.6548
1500 0.69941 3.6310 3.6205 3.6395
1750 0.81598 3.6137 3.5975 3.6277
2000 0.93255 3.6051 3.5835 3.6186
EOD
$lengths1 << EOD
1024 3.6057
4096 3.6264
EOD
$steps2 << EOD
250 0.13185 3.7341 3.7259 3.7456
500 0.26369 3.6911 3.6850 3.7003
750 0.39554 3.6802 3.6744 3.6837
1000 0.52738 3.6636 3.6581 3.6666
1250 0.65923 3.6494 3.6388 3.6560
1500 0.79107 3.6422 3.6356 3.6459
1750 0.92292 3.6323 3.6297 3.6352
2000 1.0548 3.6280 3.6273 3.6294
EOD
$lengths2 << EOD
1024 3.6263
4096 3.6270
EOD
$steps3 << EOD
250 0.13095 3.7493 3.7418 3.7623
500 0.26191 3.7008 3.6977 3.7048
750 0.39286 3.6842 3.6768 3.6892
1000 0.52382 3.6681 3.6601 3.6774
1250 0.65477 3.6533 3.6465 3.6634
1500 0.78573 3.6460 3.6427 3.6503
1750 0.91668 3.6375 3.6328 3.6426
2000 1.0476 3.6334 3.6324 3.6352
EOD
$lengths3 << EOD
1024 3.6305
4096 3.6302
EOD
set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'
set output 'curves.svg'
set multiplot layout 1,4 title 'Linear attention with and without rotation, as a byte language model (Figure 3, right; claim (a))'
set grid
unset key
set ylabel 'held-out loss (bits per character)'
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
plot NaN with lines linetype 1 dashtype 1 linewidth 1.5 title 'linear_eq19  3.37 (mean)', \
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'linear_before  3.61 (mean)', \
     NaN with lines linetype 3 dashtype 1 linewidth 1.5 title 'linear_none  3.63 (mean)', \
     NaN with lines linetype 4 dashtype 1 linewidth 1.5 title 'linear_learned  3.63 (mean)'
unset multiplot
