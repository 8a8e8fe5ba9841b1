# drawn with: gnuplot curves.gp
$steps0 << EOD
200 0.68988 6.3075 6.3075 6.3075
400 1.3798 5.7227 5.7227 5.7227
600 2.0696 5.4656 5.4656 5.4656
800 2.7595 5.3097 5.3097 5.3097
1000 3.4494 5.2426 5.2426 5.2426
EOD
$lengths0 << EOD
128 5.2853
256 5.2817
512 5.2842
1024 5.2733
EOD
$steps1 << EOD
200 0.97079 6.4395 6.4395 6.4395
400 1.9416 5.7863 5.7863 5.7863
600 2.9124 5.4958 5.4958 5.4958
800 3.8832 5.3242 5.3242 5.3242
1000 4.854 5.2493 5.2493 5.2493
EOD
$lengths1 << EOD
128 5.3048
256 5.5493
512 5.7449
1024 5.8519
EOD
$steps2 << EOD
200 0.70137 6.6022 6.5620 6.6425
400 1.4027 5.8717 5.6666 6.0377
600 2.1041 5.5734 5.4542 5.6657
800 2.8055 5.4113 5.3222 5.4939
1000 3.5068 5.3445 5.2652 5.4203
EOD
$lengths2 << EOD
128 5.3896
256 5.3915
512 5.4703
1024 6.0909
EOD
$steps3 << EOD
200 0.71757 6.5998 6.5998 6.5998
400 1.4351 5.9954 5.9954 5.9954
600 2.1527 5.6414 5.6414 5.6414
800 2.8703 5.4522 5.4522 5.4522
1000 3.5879 5.3784 5.3784 5.3784
EOD
$lengths3 << EOD
128 5.4267
256 5.4872
512 5.6263
1024 6.1122
EOD
$steps4 << EOD
200 0.65185 6.6669 6.6669 6.6669
400 1.3037 6.0416 6.0416 6.0416
600 1.9555 5.6653 5.6653 5.6653
800 2.6074 5.4604 5.4604 5.4604
1000 3.2592 5.3857 5.3857 5.3857
EOD
$lengths4 << EOD
128 5.4362
256 5.4662
512 5.8655
1024 6.3192
EOD
$steps5 << EOD
200 0.81672 6.6999 6.6361 6.7789
400 1.6334 6.0067 5.9665 6.0677
600 2.4502 5.6639 5.6169 5.7142
800 3.2669 5.4758 5.4317 5.5224
1000 4.0836 5.4022 5.3550 5.4488
EOD
$lengths5 << EOD
128 5.4500
256 5.4351
512 5.4374
1024 5.4240
EOD
$steps6 << EOD
200 0.89587 6.8248 6.8248 6.8248
400 1.7917 6.1224 6.1224 6.1224
600 2.6876 5.7256 5.7256 5.7256
800 3.5835 5.4962 5.4962 5.4962
1000 4.4793 5.4190 5.4190 5.4190
EOD
$lengths6 << EOD
128 5.4700
256 5.4513
512 5.4543
1024 5.4390
EOD
$steps7 << EOD
200 0.65209 6.7729 6.7729 6.7729
400 1.3042 6.1346 6.1346 6.1346
600 1.9563 5.7808 5.7808 5.7808
800 2.6083 5.5757 5.5757 5.5757
1000 3.2604 5.5027 5.5027 5.5027
EOD
$lengths7 << EOD
128 5.5518
256 5.5902
512 5.8455
1024 6.4934
EOD
$steps8 << EOD
200 0.81053 6.8232 6.8232 6.8232
400 1.6211 6.3446 6.3446 6.3446
600 2.4316 5.9258 5.9258 5.9258
800 3.2421 5.6658 5.6658 5.6658
1000 4.0526 5.5648 5.5648 5.5648
EOD
$lengths8 << EOD
128 5.6157
256 5.6040
512 5.6377
1024 5.6940
EOD
$steps9 << EOD
200 0.66564 6.8179 6.8179 6.8179
400 1.3313 6.3709 6.3709 6.3709
600 1.9969 5.9880 5.9880 5.9880
800 2.6626 5.7294 5.7294 5.7294
1000 3.3282 5.6404 5.6404 5.6404
EOD
$lengths9 << EOD
128 5.6941
256 6.2670
512 6.9609
1024 7.0804
EOD
$steps10 << EOD
200 0.72588 6.6245 6.6245 6.6245
400 1.4518 6.1940 6.1940 6.1940
600 2.1777 5.9427 5.9427 5.9427
800 2.9035 5.7807 5.7807 5.7807
1000 3.6294 5.7160 5.7160 5.7160
EOD
$lengths10 << EOD
128 5.7571
256 5.7452
512 5.7512
1024 5.7382
EOD
$steps11 << EOD
200 0.68831 6.6116 6.6116 6.6116
400 1.3766 6.2424 6.2424 6.2424
600 2.0649 6.0501 6.0501 6.0501
800 2.7533 5.9304 5.9304 5.9304
1000 3.4416 5.8797 5.8797 5.8797
EOD
$lengths11 << EOD
128 5.9292
256 5.9175
512 5.9274
1024 5.9171
EOD
$steps12 << EOD
200 0.71293 6.7818 6.7620 6.8114
400 1.4259 6.4978 6.4814 6.5070
600 2.1388 6.3151 6.3042 6.3246
800 2.8517 6.1903 6.1745 6.2079
1000 3.5646 6.1334 6.1158 6.1524
EOD
$lengths12 << EOD
128 6.1833
256 6.1698
512 6.1722
1024 6.1620
EOD
$steps13 << EOD
200 0.86005 6.8325 6.8189 6.8416
400 1.7201 6.6575 6.6494 6.6686
600 2.5802 6.5451 6.5310 6.5606
800 3.4402 6.3492 6.2885 6.3916
1000 4.3003 6.2434 6.1885 6.2985
EOD
$lengths13 << EOD
128 6.2941
256 6.2866
512 6.2823
1024 6.2826
EOD
$steps14 << EOD
200 0.86602 6.8313 6.8313 6.8313
400 1.732 6.6525 6.6525 6.6525
600 2.5981 6.5721 6.5721 6.5721
800 3.4641 6.5059 6.5059 6.5059
1000 4.3301 6.4680 6.4680 6.4680
EOD
$lengths14 << EOD
128 6.5222
256 6.5379
512 6.5505
1024 6.5522
EOD
$steps15 << EOD
200 0.72393 6.8313 6.8225 6.8439
400 1.4479 6.6585 6.6528 6.6695
600 2.1718 6.5747 6.5611 6.5909
800 2.8957 6.5251 6.5174 6.5360
1000 3.6197 6.5021 6.4953 6.5148
EOD
$lengths15 << EOD
128 6.5518
256 6.5484
512 6.5484
1024 6.5453
EOD
$steps16 << EOD
200 0.73085 6.8360 6.8360 6.8360
400 1.4617 6.6563 6.6563 6.6563
600 2.1925 6.5800 6.5800 6.5800
800 2.9234 6.5331 6.5331 6.5331
1000 3.6542 6.5101 6.5101 6.5101
EOD
$lengths16 << EOD
128 6.5640
256 6.5576
512 6.5576
1024 6.5507
EOD
$steps17 << EOD
200 0.68634 6.8336 6.8237 6.8435
400 1.3727 6.6606 6.6560 6.6685
600 2.059 6.5793 6.5631 6.5936
800 2.7453 6.5317 6.5159 6.5420
1000 3.4317 6.5105 6.4934 6.5226
EOD
$lengths17 << EOD
128 6.5618
256 6.5578
512 6.5564
1024 6.5506
EOD
$steps18 << EOD
200 0.74956 6.8367 6.8367 6.8367
400 1.4991 6.6567 6.6567 6.6567
600 2.2487 6.5812 6.5812 6.5812
800 2.9982 6.5359 6.5359 6.5359
1000 3.7478 6.5140 6.5140 6.5140
EOD
$lengths18 << EOD
128 6.5681
256 6.5616
512 6.5616
1024 6.5540
EOD
$steps19 << EOD
200 0.63886 6.8271 6.8271 6.8271
400 1.2777 6.6539 6.6539 6.6539
600 1.9166 6.5829 6.5829 6.5829
800 2.5554 6.5394 6.5394 6.5394
1000 3.1943 6.5171 6.5171 6.5171
EOD
$lengths19 << EOD
128 6.5681
256 6.5608
512 6.5618
1024 6.5526
EOD
$steps20 << EOD
200 0.81408 6.8907 6.8907 6.8907
400 1.6282 6.6904 6.6904 6.6904
600 2.4423 6.6100 6.6100 6.6100
800 3.2563 6.5619 6.5619 6.5619
1000 4.0704 6.5415 6.5415 6.5415
EOD
$lengths20 << EOD
128 6.5937
256 6.6008
512 6.6087
1024 6.6039
EOD
$steps21 << EOD
200 0.69588 6.8993 6.8906 6.9059
400 1.3918 6.7004 6.6909 6.7114
600 2.0876 6.6133 6.6034 6.6261
800 2.7835 6.5645 6.5588 6.5722
1000 3.4794 6.5439 6.5388 6.5519
EOD
$lengths21 << EOD
128 6.5931
256 6.6014
512 6.6079
1024 6.6050
EOD
$steps22 << EOD
200 0.72067 6.9174 6.9174 6.9174
400 1.4413 6.6964 6.6964 6.6964
600 2.162 6.6156 6.6156 6.6156
800 2.8827 6.5649 6.5649 6.5649
1000 3.6033 6.5456 6.5456 6.5456
EOD
$lengths22 << EOD
128 6.5975
256 6.6104
512 6.6215
1024 6.6164
EOD
$steps23 << EOD
200 0.95762 6.8981 6.8981 6.8981
400 1.9152 6.7177 6.7177 6.7177
600 2.8729 6.6426 6.6426 6.6426
800 3.8305 6.5965 6.5965 6.5965
1000 4.7881 6.5773 6.5773 6.5773
EOD
$lengths23 << EOD
128 6.6325
256 6.6703
512 6.8104
1024 6.9501
EOD
$steps24 << EOD
200 0.66842 6.9911 6.9791 7.0068
400 1.3368 6.7549 6.7494 6.7608
600 2.0053 6.6543 6.6439 6.6626
800 2.6737 6.6022 6.5923 6.6116
1000 3.3421 6.5810 6.5700 6.5916
EOD
$lengths24 << EOD
128 6.6299
256 6.6841
512 6.7286
1024 6.7500
EOD
$steps25 << EOD
200 0.75316 6.9991 6.9991 6.9991
400 1.5063 6.7791 6.7791 6.7791
600 2.2595 6.6734 6.6734 6.6734
800 3.0126 6.6117 6.6117 6.6117
1000 3.7658 6.5879 6.5879 6.5879
EOD
$lengths25 << EOD
128 6.6355
256 6.6416
512 6.7561
1024 6.8771
EOD
$steps26 << EOD
200 0.83657 6.9955 6.9955 6.9955
400 1.6731 6.7828 6.7828 6.7828
600 2.5097 6.6741 6.6741 6.6741
800 3.3463 6.6133 6.6133 6.6133
1000 4.1828 6.5885 6.5885 6.5885
EOD
$lengths26 << EOD
128 6.6360
256 6.6448
512 6.7538
1024 6.8834
EOD
$steps27 << EOD
200 0.71903 7.0429 7.0429 7.0429
400 1.4381 7.0131 7.0131 7.0131
600 2.1571 7.0096 7.0096 7.0096
800 2.8761 6.9603 6.9603 6.9603
1000 3.5951 6.9406 6.9406 6.9406
EOD
$lengths27 << EOD
128 6.9818
256 7.2283
512 7.5246
1024 7.3545
EOD
$steps28 << EOD
200 0.69824 7.0523 7.0427 7.0682
400 1.3965 7.0247 7.0137 7.0392
600 2.0947 6.9872 6.9676 7.0125
800 2.793 6.9555 6.9390 6.9793
1000 3.4912 6.9416 6.9216 6.9660
EOD
$lengths28 << EOD
128 6.9806
256 7.0243
512 7.2374
1024 7.4473
EOD
$steps29 << EOD
200 0.67223 7.0431 7.0431 7.0431
400 1.3445 7.0139 7.0139 7.0139
600 2.0167 7.0081 7.0081 7.0081
800 2.6889 6.9537 6.9537 6.9537
1000 3.3612 6.9422 6.9422 6.9422
EOD
$lengths29 << EOD
128 6.9827
256 6.9899
512 7.1307
1024 7.2237
EOD
$steps30 << EOD
200 0.87113 7.0419 7.0419 7.0419
400 1.7423 7.0135 7.0135 7.0135
600 2.6134 7.0068 7.0068 7.0068
800 3.4845 6.9541 6.9541 6.9541
1000 4.3556 6.9442 6.9442 6.9442
EOD
$lengths30 << EOD
128 6.9854
256 6.9742
512 6.9743
1024 6.9675
EOD
set terminal svg background rgb 'white' size 1500,640 noenhanced font ',11'
set output 'curves.svg'
set multiplot layout 1,4 title 'Every position encoding in the same model, masked-LM, one schedule (paper, section 4; claim (a))'
set grid
unset key
set ylabel 'held-out loss (nats)'
set xlabel 'step'
plot $steps0 using 1:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 1:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $steps2 using 1:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps2 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle, \
     $steps3 using 1:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps3 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 1 linewidth 1.5 notitle, \
     $steps4 using 1:4:5 with filledcurves linetype 5 fillstyle transparent solid 0.15 noborder notitle, $steps4 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 1 linewidth 1.5 notitle, \
     $steps5 using 1:4:5 with filledcurves linetype 6 fillstyle transparent solid 0.15 noborder notitle, $steps5 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 1 linewidth 1.5 notitle, \
     $steps6 using 1:4:5 with filledcurves linetype 7 fillstyle transparent solid 0.15 noborder notitle, $steps6 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 1 linewidth 1.5 notitle, \
     $steps7 using 1:4:5 with filledcurves linetype 8 fillstyle transparent solid 0.15 noborder notitle, $steps7 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 1 linewidth 1.5 notitle, \
     $steps8 using 1:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps8 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 2 linewidth 1.5 notitle, \
     $steps9 using 1:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps9 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 2 linewidth 1.5 notitle, \
     $steps10 using 1:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps10 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 2 linewidth 1.5 notitle, \
     $steps11 using 1:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps11 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 2 linewidth 1.5 notitle, \
     $steps12 using 1:4:5 with filledcurves linetype 5 fillstyle transparent solid 0.15 noborder notitle, $steps12 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 2 linewidth 1.5 notitle, \
     $steps13 using 1:4:5 with filledcurves linetype 6 fillstyle transparent solid 0.15 noborder notitle, $steps13 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 2 linewidth 1.5 notitle, \
     $steps14 using 1:4:5 with filledcurves linetype 7 fillstyle transparent solid 0.15 noborder notitle, $steps14 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 2 linewidth 1.5 notitle, \
     $steps15 using 1:4:5 with filledcurves linetype 8 fillstyle transparent solid 0.15 noborder notitle, $steps15 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 2 linewidth 1.5 notitle, \
     $steps16 using 1:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps16 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 3 linewidth 1.5 notitle, \
     $steps17 using 1:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps17 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 3 linewidth 1.5 notitle, \
     $steps18 using 1:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps18 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 3 linewidth 1.5 notitle, \
     $steps19 using 1:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps19 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 3 linewidth 1.5 notitle, \
     $steps20 using 1:4:5 with filledcurves linetype 5 fillstyle transparent solid 0.15 noborder notitle, $steps20 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 3 linewidth 1.5 notitle, \
     $steps21 using 1:4:5 with filledcurves linetype 6 fillstyle transparent solid 0.15 noborder notitle, $steps21 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 3 linewidth 1.5 notitle, \
     $steps22 using 1:4:5 with filledcurves linetype 7 fillstyle transparent solid 0.15 noborder notitle, $steps22 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 3 linewidth 1.5 notitle, \
     $steps23 using 1:4:5 with filledcurves linetype 8 fillstyle transparent solid 0.15 noborder notitle, $steps23 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 3 linewidth 1.5 notitle, \
     $steps24 using 1:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps24 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 4 linewidth 1.5 notitle, \
     $steps25 using 1:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps25 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 4 linewidth 1.5 notitle, \
     $steps26 using 1:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps26 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 4 linewidth 1.5 notitle, \
     $steps27 using 1:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps27 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 4 linewidth 1.5 notitle, \
     $steps28 using 1:4:5 with filledcurves linetype 5 fillstyle transparent solid 0.15 noborder notitle, $steps28 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 4 linewidth 1.5 notitle, \
     $steps29 using 1:4:5 with filledcurves linetype 6 fillstyle transparent solid 0.15 noborder notitle, $steps29 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 4 linewidth 1.5 notitle, \
     $steps30 using 1:4:5 with filledcurves linetype 7 fillstyle transparent solid 0.15 noborder notitle, $steps30 using 1:3 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 4 linewidth 1.5 notitle
set xlabel 'minutes, at the fastest rate of the log'
plot $steps0 using 2:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps0 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $steps1 using 2:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps1 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $steps2 using 2:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps2 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle, \
     $steps3 using 2:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps3 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 1 linewidth 1.5 notitle, \
     $steps4 using 2:4:5 with filledcurves linetype 5 fillstyle transparent solid 0.15 noborder notitle, $steps4 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 1 linewidth 1.5 notitle, \
     $steps5 using 2:4:5 with filledcurves linetype 6 fillstyle transparent solid 0.15 noborder notitle, $steps5 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 1 linewidth 1.5 notitle, \
     $steps6 using 2:4:5 with filledcurves linetype 7 fillstyle transparent solid 0.15 noborder notitle, $steps6 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 1 linewidth 1.5 notitle, \
     $steps7 using 2:4:5 with filledcurves linetype 8 fillstyle transparent solid 0.15 noborder notitle, $steps7 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 1 linewidth 1.5 notitle, \
     $steps8 using 2:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps8 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 2 linewidth 1.5 notitle, \
     $steps9 using 2:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps9 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 2 linewidth 1.5 notitle, \
     $steps10 using 2:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps10 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 2 linewidth 1.5 notitle, \
     $steps11 using 2:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps11 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 2 linewidth 1.5 notitle, \
     $steps12 using 2:4:5 with filledcurves linetype 5 fillstyle transparent solid 0.15 noborder notitle, $steps12 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 2 linewidth 1.5 notitle, \
     $steps13 using 2:4:5 with filledcurves linetype 6 fillstyle transparent solid 0.15 noborder notitle, $steps13 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 2 linewidth 1.5 notitle, \
     $steps14 using 2:4:5 with filledcurves linetype 7 fillstyle transparent solid 0.15 noborder notitle, $steps14 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 2 linewidth 1.5 notitle, \
     $steps15 using 2:4:5 with filledcurves linetype 8 fillstyle transparent solid 0.15 noborder notitle, $steps15 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 2 linewidth 1.5 notitle, \
     $steps16 using 2:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps16 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 3 linewidth 1.5 notitle, \
     $steps17 using 2:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps17 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 3 linewidth 1.5 notitle, \
     $steps18 using 2:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps18 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 3 linewidth 1.5 notitle, \
     $steps19 using 2:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps19 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 3 linewidth 1.5 notitle, \
     $steps20 using 2:4:5 with filledcurves linetype 5 fillstyle transparent solid 0.15 noborder notitle, $steps20 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 3 linewidth 1.5 notitle, \
     $steps21 using 2:4:5 with filledcurves linetype 6 fillstyle transparent solid 0.15 noborder notitle, $steps21 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 3 linewidth 1.5 notitle, \
     $steps22 using 2:4:5 with filledcurves linetype 7 fillstyle transparent solid 0.15 noborder notitle, $steps22 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 3 linewidth 1.5 notitle, \
     $steps23 using 2:4:5 with filledcurves linetype 8 fillstyle transparent solid 0.15 noborder notitle, $steps23 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 3 linewidth 1.5 notitle, \
     $steps24 using 2:4:5 with filledcurves linetype 1 fillstyle transparent solid 0.15 noborder notitle, $steps24 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 4 linewidth 1.5 notitle, \
     $steps25 using 2:4:5 with filledcurves linetype 2 fillstyle transparent solid 0.15 noborder notitle, $steps25 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 4 linewidth 1.5 notitle, \
     $steps26 using 2:4:5 with filledcurves linetype 3 fillstyle transparent solid 0.15 noborder notitle, $steps26 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 4 linewidth 1.5 notitle, \
     $steps27 using 2:4:5 with filledcurves linetype 4 fillstyle transparent solid 0.15 noborder notitle, $steps27 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 4 linewidth 1.5 notitle, \
     $steps28 using 2:4:5 with filledcurves linetype 5 fillstyle transparent solid 0.15 noborder notitle, $steps28 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 4 linewidth 1.5 notitle, \
     $steps29 using 2:4:5 with filledcurves linetype 6 fillstyle transparent solid 0.15 noborder notitle, $steps29 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 4 linewidth 1.5 notitle, \
     $steps30 using 2:4:5 with filledcurves linetype 7 fillstyle transparent solid 0.15 noborder notitle, $steps30 using 2:3 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 4 linewidth 1.5 notitle
set logscale x 2
set xlabel 'length of texts (tokens)'
plot $lengths0 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 1 linewidth 1.5 notitle, \
     $lengths1 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 1 linewidth 1.5 notitle, \
     $lengths2 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 1 linewidth 1.5 notitle, \
     $lengths3 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 1 linewidth 1.5 notitle, \
     $lengths4 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 1 linewidth 1.5 notitle, \
     $lengths5 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 1 linewidth 1.5 notitle, \
     $lengths6 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 1 linewidth 1.5 notitle, \
     $lengths7 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 1 linewidth 1.5 notitle, \
     $lengths8 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 2 linewidth 1.5 notitle, \
     $lengths9 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 2 linewidth 1.5 notitle, \
     $lengths10 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 2 linewidth 1.5 notitle, \
     $lengths11 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 2 linewidth 1.5 notitle, \
     $lengths12 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 2 linewidth 1.5 notitle, \
     $lengths13 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 2 linewidth 1.5 notitle, \
     $lengths14 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 2 linewidth 1.5 notitle, \
     $lengths15 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 2 linewidth 1.5 notitle, \
     $lengths16 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 3 linewidth 1.5 notitle, \
     $lengths17 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 3 linewidth 1.5 notitle, \
     $lengths18 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 3 linewidth 1.5 notitle, \
     $lengths19 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 3 linewidth 1.5 notitle, \
     $lengths20 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 3 linewidth 1.5 notitle, \
     $lengths21 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 3 linewidth 1.5 notitle, \
     $lengths22 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 3 linewidth 1.5 notitle, \
     $lengths23 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 8 dashtype 3 linewidth 1.5 notitle, \
     $lengths24 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 1 dashtype 4 linewidth 1.5 notitle, \
     $lengths25 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 2 dashtype 4 linewidth 1.5 notitle, \
     $lengths26 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 3 dashtype 4 linewidth 1.5 notitle, \
     $lengths27 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 4 dashtype 4 linewidth 1.5 notitle, \
     $lengths28 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 5 dashtype 4 linewidth 1.5 notitle, \
     $lengths29 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 6 dashtype 4 linewidth 1.5 notitle, \
     $lengths30 using 1:2 with linespoints pointtype 7 pointsize 0.3 linetype 7 dashtype 4 linewidth 1.5 notitle
unset logscale
unset grid
unset border
unset tics
unset xlabel
unset ylabel
set xrange [0:1]
set yrange [0:1]
set key at graph 0, graph 1 left top Left reverse samplen 2 maxcols 1
plot NaN with lines linetype 1 dashtype 1 linewidth 1.5 title 'convolution  5.24', \
     NaN with lines linetype 2 dashtype 1 linewidth 1.5 title 'deberta  5.25', \
     NaN with lines linetype 3 dashtype 1 linewidth 1.5 title 'rotary  5.34 (mean)', \
     NaN with lines linetype 4 dashtype 1 linewidth 1.5 title 'rotary_learned  5.38', \
     NaN with lines linetype 5 dashtype 1 linewidth 1.5 title 'rotary_half  5.39', \
     NaN with lines linetype 6 dashtype 1 linewidth 1.5 title 'transformer_xl  5.40 (mean)', \
     NaN with lines linetype 7 dashtype 1 linewidth 1.5 title 'xlnet  5.42', \
     NaN with lines linetype 8 dashtype 1 linewidth 1.5 title 'rotary_value  5.50', \
     NaN with lines linetype 1 dashtype 2 linewidth 1.5 title 'nezha  5.56', \
     NaN with lines linetype 2 dashtype 2 linewidth 1.5 title 'rotary_axial  5.64', \
     NaN with lines linetype 3 dashtype 2 linewidth 1.5 title 'sandwich  5.72', \
     NaN with lines linetype 4 dashtype 2 linewidth 1.5 title 'recurrent  5.88', \
     NaN with lines linetype 5 dashtype 2 linewidth 1.5 title 'alibi  6.13 (mean)', \
     NaN with lines linetype 6 dashtype 2 linewidth 1.5 title 'shaw  6.24 (mean)', \
     NaN with lines linetype 7 dashtype 2 linewidth 1.5 title 'tupe  6.47', \
     NaN with lines linetype 8 dashtype 2 linewidth 1.5 title 't5  6.50 (mean)', \
     NaN with lines linetype 1 dashtype 3 linewidth 1.5 title 'kerple_log  6.51', \
     NaN with lines linetype 2 dashtype 3 linewidth 1.5 title 'none  6.51 (mean)', \
     NaN with lines linetype 3 dashtype 3 linewidth 1.5 title 'kerple_power  6.51', \
     NaN with lines linetype 4 dashtype 3 linewidth 1.5 title 'product  6.52', \
     NaN with lines linetype 5 dashtype 3 linewidth 1.5 title 'hierarchical  6.54', \
     NaN with lines linetype 6 dashtype 3 linewidth 1.5 title 'learned  6.54 (mean)', \
     NaN with lines linetype 7 dashtype 3 linewidth 1.5 title 'axial  6.55', \
     NaN with lines linetype 8 dashtype 3 linewidth 1.5 title 'complex_order  6.58', \
     NaN with lines linetype 1 dashtype 4 linewidth 1.5 title 'sinusoidal_scaled  6.58 (mean)', \
     NaN with lines linetype 2 dashtype 4 linewidth 1.5 title 'floater  6.59', \
     NaN with lines linetype 3 dashtype 4 linewidth 1.5 title 'floater_rk4  6.59', \
     NaN with lines linetype 4 dashtype 4 linewidth 1.5 title 'sinusoidal_halves  6.94', \
     NaN with lines linetype 5 dashtype 4 linewidth 1.5 title 'sinusoidal  6.94 (mean)', \
     NaN with lines linetype 6 dashtype 4 linewidth 1.5 title 'cape  6.94', \
     NaN with lines linetype 7 dashtype 4 linewidth 1.5 title 'recursive  6.94'
unset multiplot
