$row0 << EOD
0.000 84.833 0.609
1.000 85.000 0.534
2.000 78.234 0.391
3.000 21.173 0.912
4.000 52.635 1.519
EOD
$words << EOD
0 80.900
1 81.700
2 56.900
3 14.300
4 52.700
EOD
$majority << EOD
0 81.200
1 50.900
2 NaN
3 0.000
4 52.700
EOD
set terminal svg size 900,420 dynamic enhanced font 'sans,13' background '#ffffff'
set output out
set ylabel 'dev score, %'
set grid ytics lc '#dddddd'
set key outside right top
set xrange [-0.6:4.6]
set xtics ('MRPC' 0, 'SST-2' 1, 'STS-B' 2, 'CoLA' 3, 'RTE' 4)
plot $words using 1:2 with points pt 2 ps 1.2 lc '#666666' title 'bag of words', \
     $majority using 1:2 with points pt 1 ps 1.2 lc '#666666' title 'majority class', \
     $row0 using 1:2:3 with yerrorbars pt 7 ps 0.8 lw 1.5 lc '#0072b2' title 'roformer-small-en'
