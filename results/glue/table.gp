$row0 << EOD
-0.160 81.274 0.116
0.840 78.234 0.417
1.840 57.893 0.584
2.840 20.224 0.683
3.840 62.007 0.841
4.840 62.058 0.685
5.840 5.899 3.003
6.840 50.614 3.263
7.840 57.183 1.890
EOD
$row1 << EOD
0.000 81.223 0.000
1.000 76.537 0.793
2.000 58.179 0.661
3.000 22.302 1.025
4.000 60.352 0.942
5.000 60.365 0.537
6.000 5.395 4.709
7.000 51.697 2.545
8.000 56.338 0.000
EOD
$row2 << EOD
0.160 81.223 0.000
1.160 57.729 4.670
2.160 53.964 3.160
3.160 7.254 0.133
4.160 13.311 14.757
5.160 56.688 0.000
6.160 0.000 0.000
7.160 49.386 3.035
8.160 56.338 0.000
EOD
$words << EOD
0 80.900
1 81.700
2 63.600
3 56.900
4 67.400
5 78.800
6 14.300
7 52.700
8 9.900
EOD
$majority << EOD
0 81.200
1 50.900
2 49.500
3 NaN
4 0.000
5 56.700
6 0.000
7 52.700
8 56.300
EOD
set terminal svg size 900,420 dynamic enhanced font 'sans,13' background '#ffffff'
set output out
set ylabel 'dev score, %'
set grid ytics lc '#dddddd'
set key outside right top
set xrange [-0.6:8.6]
set xtics ('MRPC' 0, 'SST-2' 1, 'QNLI' 2, 'STS-B' 3, 'QQP' 4, 'SICK' 5, 'CoLA' 6, 'RTE' 7, 'WNLI' 8)
plot $words using 1:2 with points pt 2 ps 1.2 lc '#666666' title 'bag of words', \
     $majority using 1:2 with points pt 1 ps 1.2 lc '#666666' title 'majority class', \
     $row0 using 1:2:3 with yerrorbars pt 7 ps 0.8 lw 1.5 lc '#0072b2' title 'rotary', \
     $row1 using 1:2:3 with yerrorbars pt 7 ps 0.8 lw 1.5 lc '#d55e00' title 'learned', \
     $row2 using 1:2:3 with yerrorbars pt 7 ps 0.8 lw 1.5 lc '#009e73' title 'sinusoidal'
