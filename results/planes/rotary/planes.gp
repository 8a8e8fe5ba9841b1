# drawn with: gnuplot planes.gp
$x << EOD
11 0.11568 0.12581 0.11549 0.12595 0.12778 0.11642 0.13918 0.13370 42.6366 42.6177 42.6922 42.4754 8.8949 -0.0000
100 0.10769 0.16138 0.20974 0.12967 0.09516 0.10145 0.10010 0.09481 41.4071 42.2824 39.1840 40.0383 7.2443 0.0009
200 0.24681 0.21879 0.24785 0.09933 0.04508 0.04449 0.04901 0.04865 35.4071 39.1429 34.9840 32.5922 6.8245 0.4555
300 0.25390 0.23701 0.24461 0.09452 0.04018 0.04067 0.04340 0.04570 32.8392 36.1161 30.9249 29.0214 6.5519 0.7800
400 0.26150 0.23241 0.23636 0.08968 0.04224 0.04318 0.04713 0.04751 32.3904 37.1675 28.5717 28.8570 6.2940 1.1179
500 0.26743 0.22766 0.23312 0.09296 0.04066 0.04366 0.04645 0.04806 31.7409 35.0815 27.3825 25.3168 6.1246 1.3743
600 0.26391 0.22248 0.22612 0.09341 0.04328 0.04834 0.04889 0.05358 31.1940 33.9515 26.4059 27.4756 6.0192 1.4078
700 0.25923 0.21633 0.22306 0.09526 0.04562 0.05189 0.05076 0.05784 30.8442 33.9170 25.1088 28.3858 5.9096 1.6598
800 0.26076 0.21315 0.22324 0.09514 0.04550 0.05300 0.05049 0.05871 30.7343 32.4786 23.4498 26.5471 5.8502 1.6559
900 0.25771 0.21150 0.22387 0.09692 0.04596 0.05354 0.05089 0.05962 31.3356 32.3465 22.8060 25.3727 5.8022 1.6724
1000 0.25692 0.21110 0.22325 0.09723 0.04636 0.05393 0.05111 0.06010 31.2231 32.1675 22.6971 25.3939 5.7790 1.6609
EOD
set terminal svg background rgb 'white' size 1600,420 noenhanced font ',11'
set output 'planes.svg'
set multiplot layout 1,3
set grid
set key outside right
set datafile missing '?'
set xlabel 'step'
set title 'share of |q||k| by eighth of the planes, the fastest first'
plot $x using 1:2 with linespoints title '0', $x using 1:3 with linespoints title '1', $x using 1:4 with linespoints title '2', $x using 1:5 with linespoints title '3', $x using 1:6 with linespoints title '4', $x using 1:7 with linespoints title '5', $x using 1:8 with linespoints title '6', $x using 1:9 with linespoints title '7'
set title 'mean distance of attention, by layer'
plot $x using 1:10 with linespoints title '0', $x using 1:11 with linespoints title '1', $x using 1:12 with linespoints title '2', $x using 1:13 with linespoints title '3'
set title 'loss, and by how much it rises without order'
plot $x using 1:14 with linespoints title 'loss', $x using 1:15 with linespoints title 'order'
unset multiplot
