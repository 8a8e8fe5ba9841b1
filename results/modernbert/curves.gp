# drawn with: gnuplot curves.gp
$steps0 << EOD
150 0.44729 6.9764 6.9712 6.9841
300 0.89458 6.6201 6.5308 6.7041
450 1.3419 6.3902 6.3004 6.4820
600 1.7892 6.2902 6.2083 6.3830
EOD
$lengths0 << EOD
256 6.3474
128 6.3625
EOD
$steps1 << EOD
150 0.48405 6.9527 6.9451 6.9678
300 0.96811 6.6279 6.5635 6.7179
450 1.4522 6.4167 6.3538 6.5422
600 1.9362 6.3224 6.2594 6.4416
EOD
$lengths1 << EOD
256 6.3808
128 6.3972
EOD
$steps2 << EOD
150 0.48008 6.9579 6.9485 6.9732
300 0.96016 6.7043 6.6350 6.7926
450 1.4402 6.4866 6.3786 6.6725
600 1.9203 6.3951 6.2680 6.6031
EOD
$lengths2 << EOD
256 6.4535
128 6.4715
EOD
$steps3 << EOD
150 0.28627 7.0261 7.0172 7.0422
300 0.57254 6.8579 6.8437 6.8727
450 0.85881 6.7655 6.7474 6.7785
600 1.1451 6.7276 6.7096 6.7405
EOD
$lengths3 << EOD
256 6.7844
128 6.7920
EOD
set terminal svg background rgb 'white' size 1500,420 noenhanced font ',11'
set output 'curves.svg'
set multiplot layout 1,4 title 'ModernBERT''s recipe against RoFormer, BERT and NomicBERT: equal parameters, equal tokens'
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
plot NaN with lines linetype 1 dashtype 1 linewidth 1.5 title 'modernbert  6.29 (mean)', \
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'nomic_bert  6.32 (mean)', \
     NaN with lines linetype 3 dashtype 1 linewidth 1.5 title 'roformer  6.40 (mean)', \
     NaN with lines linetype 4 dashtype 1 linewidth 1.5 title 'bert  6.73 (mean)'
unset multiplot
