# drawn with: gnuplot planes.gp
$x << EOD
1 0.25859 0.21119 0.22187 0.09750 0.04601 0.05396 0.05126 0.05961 31.2970 32.2898 21.8949 25.4368
2 0.19195 0.19775 0.18571 0.11234 0.07435 0.07855 0.08321 0.07615 36.9825 36.1241 39.4186 22.8495
3 0.24029 0.19999 0.20201 0.11442 0.05208 0.06203 0.06622 0.06296 38.0623 24.9943 19.0580 35.5157
4 ? ? ? ? ? ? ? ? 42.1425 43.8041 42.8379 42.8254
5 ? ? ? ? ? ? ? ? 42.8282 43.2503 42.9521 42.6800
6 ? ? ? ? ? ? ? ? 42.3742 43.5639 42.9464 42.8530
7 ? ? ? ? ? ? ? ? 47.2380 42.4746 43.3241 43.0301
8 ? ? ? ? ? ? ? ? 47.3019 43.0911 42.9839 42.7752
9 ? ? ? ? ? ? ? ? 47.0442 40.2394 42.2570 42.0414
10 ? ? ? ? ? ? ? ? 42.9113 42.9874 43.2540 42.8340
11 ? ? ? ? ? ? ? ? 34.3538 32.1543 28.9645 24.2154
12 ? ? ? ? ? ? ? ? 25.2466 25.4753 33.3558 30.2913
13 ? ? ? ? ? ? ? ? 22.1403 22.1047 21.9533 22.1555
14 ? ? ? ? ? ? ? ? 42.9128 41.1796 36.2127 40.2129
15 ? ? ? ? ? ? ? ? 40.6180 42.3917 42.8999 41.2883
EOD
set terminal svg background rgb 'white' size 1100,420 noenhanced font ',11'
set output 'planes.svg'
set multiplot layout 1,2
set grid
set key outside right
set datafile missing '?'
set xtics () rotate by 45 right
set xrange [0.5:15.5]
set xtics add ('rotary-1' 1)
set xtics add ('rotary-2' 2)
set xtics add ('rotary-3' 3)
set xtics add ('learned-1' 4)
set xtics add ('learned-2' 5)
set xtics add ('learned-3' 6)
set xtics add ('sinusoidal-1' 7)
set xtics add ('sinusoidal-2' 8)
set xtics add ('sinusoidal-3' 9)
set xtics add ('none-1' 10)
set xtics add ('transformer_xl-1' 11)
set xtics add ('nezha-1' 12)
set xtics add ('alibi-1' 13)
set xtics add ('shaw-1' 14)
set xtics add ('t5-1' 15)
set title 'share of |q||k| by eighth of the planes, the fastest first'
plot $x using 1:2 with linespoints title '0', $x using 1:3 with linespoints title '1', $x using 1:4 with linespoints title '2', $x using 1:5 with linespoints title '3', $x using 1:6 with linespoints title '4', $x using 1:7 with linespoints title '5', $x using 1:8 with linespoints title '6', $x using 1:9 with linespoints title '7'
set title 'mean distance of attention, by layer'
plot $x using 1:10 with linespoints title '0', $x using 1:11 with linespoints title '1', $x using 1:12 with linespoints title '2', $x using 1:13 with linespoints title '3'
unset multiplot
