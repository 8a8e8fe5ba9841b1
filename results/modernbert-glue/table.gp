$row0 << EOD
-0.240 66.743 4.187
0.760 52.661 3.878
EOD
$row1 << EOD
-0.080 68.425 0.066
0.920 54.719 1.248
EOD
$row2 << EOD
0.080 65.214 4.670
1.080 50.716 4.369
EOD
$row3 << EOD
0.240 69.419 1.319
1.240 55.920 2.333
EOD
$words << EOD
0 81.700
1 67.400
EOD
$majority << EOD
0 50.900
1 0.000
EOD
set terminal svg size 900,420 dynamic enhanced font 'sans,13' background '#ffffff'
set output out
set ylabel 'dev score, %'
set grid ytics lc '#dddddd'
set key outside right top
set xrange [-0.6:1.6]
set xtics ('SST-2' 0, 'QQP' 1)
plot $words using 1:2 with points pt 2 ps 1.2 lc '#666666' title 'bag of words', \
     $majority using 1:2 with points pt 1 ps 1.2 lc '#666666' title 'majority class', \
     $row0 using 1:2:3 with yerrorbars pt 7 ps 0.8 lw 1.5 lc '#0072b2' title 'roformer', \
     $row1 using 1:2:3 with yerrorbars pt 7 ps 0.8 lw 1.5 lc '#d55e00' title 'bert', \
     $row2 using 1:2:3 with yerrorbars pt 7 ps 0.8 lw 1.5 lc '#009e73' title 'nomic_bert', \
     $row3 using 1:2:3 with yerrorbars pt 7 ps 0.8 lw 1.5 lc '#cc79a7' title 'modernbert'
