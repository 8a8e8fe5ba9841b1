# drawn with: gnuplot FILE.gp
if (!exists('out')) out = 'wavelengths.svg'
if (strstrt(out, '.svg') > 0) {
    set terminal svg background rgb 'white' size 900,480 noenhanced font ',11'
} else {
    set terminal pngcairo size 900,480 noenhanced font ',11'
}
set output out
set datafile missing '?'
set linetype 5 linecolor rgb '#8c564b'
$curve << EOD
0	6.283185	6.283185	1536
1	8.378762	8.378762	1536
2	11.17326	11.17326	1536
3	14.89978	14.89978	1536
4	19.86918	19.86918	1536
5	26.49597	26.49597	1536
6	35.33295	35.33295	1536
7	47.11724	47.11724	1536
8	62.83185	62.83185	1536
9	83.78762	83.78762	1536
10	111.7326	111.7326	1536
11	148.9978	148.9978	1536
12	198.6918	198.6918	1536
13	264.9597	264.9597	1536
14	353.3295	353.3295	1536
15	471.1724	471.1724	1536
16	628.3185	628.3185	1536
17	837.8762	837.8762	1536
18	1117.326	1117.326	1536
19	1489.978	1489.978	1536
20	1986.918	1986.918	1536
21	2649.597	2649.597	1536
22	3533.295	3533.295	1536
23	4711.724	4711.724	1536
24	6283.185	6283.185	1536
25	8378.762	8378.762	1536
26	11173.26	11173.26	1536
27	14899.78	14899.78	1536
28	19869.18	19869.18	1536
29	26495.97	26495.97	1536
30	35332.95	35332.95	1536
31	47117.24	47117.24	1536
EOD
set grid
set key below
set bmargin 7
set rmargin 5
set xlabel 'plane (0 rotates fastest)'
set ylabel 'tokens of a full revolution'
set logscale y
set title "wavelength of each plane\nheads of 64 rotated columns, base 10000"
plot $curve using 1:2 with lines linewidth 1.5 title 'as config.json has it', \
     $curve using 1:3 with lines linewidth 1.5 dashtype 2 title 'without rope_scaling', \
     $curve using 1:4 with lines linewidth 1.5 title 'max_position_embeddings'
set output
