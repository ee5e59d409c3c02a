"""The letters of Unicode 16 as in PostgreSQL 18, independent of the Unicode version of Python.

A set is a list of distances between the code points where membership changes, in base 36; `d*n` is n times
d. A case mapping is a list of runs `start.count.shift`: start is the distance from the start of the previous
run, and a slash after the count means every second code point.
"""

# The letters that are neither upper nor lower case.
OTHER_ALPHA = (
    "cb 1 4 4 1 1 2 1 2 1 12 1 4h 1 10 7 6 c q 1*3 38 d 4 1 dg 1 2e e 1*3 2 1 2 1 1 8 r 4 4 t b 5 1k 1 7 e "
    "2u 1 8 4 8 4 3 a 3 2 1 g 1c d 2t o x 9 2 4 1 5 o 2 j j p 7 b 5 o 1 6 8 1 8 16 a c 3 7 6 24 1 g 1 3 4 "
    "f d j 1 8 2*3 m 1 7 1 1 3 4 3 8 2*4 1 1 8 1 4 2 1 5 c 2 a 1 4 3 1 6 4 2 2 m 1 7 1 2 1 2 1 2 4 5 4 2*3 "
    "4 1 7 4 1 1 h 6 b 3 1 9 1 3 1 m 1 7 1 2 1 5 3 9 1 3 1 2 3 1 f 4 l 4 4 3 1 8 2*3 m 1 7 1 2 1 5 3 8 2*4 "
    "9 2 4 2 1 5 d 1 g 2 1 6 3 3 1 4 3 2 1*3 2 3 2 3*3 c 4 5 3 3 1 3 3 1 6 1 14 d 1 3 1 n 1 g 3 8 1 3 1 3 "
    "8 2 1 3 2 1 2 4 s 4 1 8 1 3 1 n 1 a 1 5 3 8 1 3 1 3 8 2 6 2 1 4 d 3 c d 1 3 1 15 2 8 1 3 1 3 1 1 5 4 "
    "7 5 m 6 1 3 1 i 3 o 1 9 1 1 2 7 8 6 1*3 8 i 2 d 1m 5 7 6 1 1f 2 1*3 5 1 o 1*3 j 1 3 2 5 1 1 6 1 e 4 w "
    "1 1r 8 1 10 4 j 4 g 1 10 1v 1j 1 1 2 5 g 1s a 4 2q 95 1 4 2 7 1*3 4 2 15 1 4 2 x 1 4 2 7 1*3 4 2 f 1 "
    "1l 1 4 2 1v 11 g 35 h8 2 h 1 q 5 23 3 b 7 k b l c k c d 1 3 1 2 c 1g 2 j e 1 4 1 1v 2h 7 17 5 1y a v "
    "1 c 4 9 n u 2 5 b 18 4 q 1i s 4 1r 2 k 1e 1 n 2 b 3 1d 1g 1 f 1 8 1f 16 2 4 a 18 1 b e 1j m 3 a 10 2z "
    "4 1 6 1 2 3 1 60 y b7 8*5 c 1 f 1 1b 1 8o 4 1z 3 2 4 2av 1k 7 1 g n 9 7 1 7 1 7 1 7 1 7 1 7 1 7 1 7 1 "
    "w 1b 1 d1 3 p 9 7 5 2 5 4 2e 6 3 1 2i 1 4 5 17 1 2m h w 1c g e8 534 1s h3h 1v 1a 2 7h 3 g a 2 1u 1 5 "
    "8 3 1 u 2a 13 9 2w 1 6 1 2v 1 3 b 1 x o 1g c 1w 1 1 18 6 3 1 1 3 a x 5 z d t 3 1f 1 c f 1 g g a 5 1 "
    "1j 9 e i n 3 1x 1*4 o 3 2 g 2 4 b 6 2 6 2 6 9 7 1 7 41 17 l 8mc c n 4 1d 6is a6 2 2y 1v c 1 d 1 5 1*3 "
    "2 1 2 1 30 x a3 i 1s 2 1i 14 c 38 5 1 3r 2x 2h 3 6 2 6 2 6 2 3 z c 1 q 1 j 1 2 1 f 2 e y 3f 1x 1h 7f "
    "t 3 1d 1b w d u 5 17 5 u 2 10 4 8 1 5 3e 26 2q 14 8 1g 2k 1g c 8n 9 m a 8 p 2 3h 6 2 1 1 18 1 2 3 1 2 "
    "n a n 9 v 1t j 1 2 a m a q 1y 1k 6 2 1s 4 1 2 5 8 1 3 1 t 16 t 3 t z 8 1 s r 1i a m a j d i 32 21 53 "
    "14 y 6 p 1 5 1 7k 16 1 2 3 2 g 3 1j 1 3 t a 1 8 m 16 i 1a l r n 9 1y 17 5 a 1l 9 1 d p n 1f h 4 8 z 3 "
    "1 9 1s 1 4 9 2 a 1*3 z i 1 y 2 1 6 4 1q 7 1*3 4 1 f 1 a 7 1l n 4 1 8 2*3 m 1 7 1 2 1 5 3 8 2*4 3 1 6 "
    "1 5 7 s a 1 1 2 1 1 12 1 a 1 1 2 1 1 4 1 2 3 1*3 18 1u 1 3 1 4 k 3 u 1u 2 2 1 1 54 1i 2 7 p 6 y 1r 1 "
    "1 3 1 1n 1i 2 1 1z r 2 e l 7 55 1l 5i 8 2 1 2 8 1 2 1 u 1 2*4 4 2l 8 2 1a 2 6 1*3 2 r 1f 2 a h 20 5 1 "
    "i 21 5j x v 9 1 19 1 7 1 1 1d u 2 m 1 e 21 7 1 2 1 18 3 1 1 2 1 3 1 1 2 2 o 6 1 2 1 11 1 2 1 4 1 1 93 "
    "n 9 h 1 15 3 3 33 1 27 pm 2u 33 h 5g 218 2p f ts h 6 p 32z 5 g7 5a1 1b 1ch ft 7 v h 27 h u i 1c g 4 v "
    "l 5 j c0 19 b7 23 4 1l 7 h 1s 2 1 1 c 2 e 4qg 8 ye 15 a 6w7 4 1 7 1 2 1 83 f 1 t 3 2 1 e 4 8 b0 1s4 "
    "2z 5 d 3 9 7 a 4 1 6sr 1 6t 7 1 h 2 7 1 2 1 5 2s 1 34 19 a 7 g 1 8x u i 18 dg s 6c u 2 1 dr 7 1 4 1 2 "
    "1 f 1 5h 3m 1 3 1 xg 4 1 r 1 2 1 1 2 1 1 a 1 4 1*4 6 1 4 1*6 3 1 2 1 1 2 1*a 2 1 1 2 4 1 7 1 4 1 4 "
    "1*3 a 1 h 5 3 1 5 1 h 3es wyo w 37e 6 66 2 4g2 e 5rl f ha 1wi f2 15u 3t7 5 38g"
)

# The difference between the upper-case letters and those that change in lower case.
UPPER = (
    "cl 1 2 1 2 1 12 1 db 3 5gz 8*5 c 1 f 1 1b 1 79 1 4 1 3 3 2 3 2 1 3 5 6 1 3 1 3 2*3 1 1 a 2 5 1 2dve "
    "q*6 1 1 2 2 1 2*3 4 1 8 q*3 2 1 4 2 8 1 7 r 2 1 4 1 5 1 1 3 7 r q*b u p x p x p x p x p x 1 50l q 6 q "
    "6 q"
)

# The difference between the lower-case letters and those that change in upper case.
LOWER = (
    "4q 1 f 1 10 1 2g 1 g 1 1v 1 s 2 e 1 3 1 6 1 2 1 2 1 10 1*3 1a 1 i 6 r 1 2 1*3 2 3 2 1 4 1 5 2 1 1 2 2 "
    "1 7 1 2 1 1 2 3 6 5 1*3 8 2 q 7 2 u 5 45 1 l 1 v 1 23 1 9v 1 12 2 29f 1 2df 3d 1 3 1 g 1 1d 5y 5 1 2 "
    "1 1 4w 1*7 2j 1*4 2 a 1*4 2 a 2*3 a 3 1 2 a 1*4 2 3d 1 d 1 g d 31 1 3 2 3 1 r 1 4 1 4 1 2 2 8 4 27b 1 "
    "2 1 2 7 2u 1 o1j 2 42 2 1q 9 l 1 6 1 p 1 z 1*3 s 3*3 mt z 1 7 1 e fpy 7 c 5 2g8 1 2 3 1 16 1 9 14db q "
    "q 7 1 i q*3 4 1*3 7 1 b q*h s s p 1 6 q p 1 6 q p 1 6 q p 1 6 q p 1 6 1 1 1f8 a 1 k 6 6 79 1q"
)

SPACE = "9 5 i 1 2s 1 q 1 4bj 1 1vj b t 2 5 1 1b 1 334 1"

PUNCT = (
    "x f a 7 q 6 q 4 y 9 1 2 1 4 2 1 1 3 2 1 3 1 n 1 v 1 cq 4 c e 5 7 1*3 h 39 1 8 1 5 2 1 1 32 1 3v 1 5z "
    "6 15 2 2 3 1a 1*3 2 1 2 1 18 2 h a b 1 1 3 22 4 2u 1 9 1 a 1 j 2 1 e 6g 4 4 2 1c f v 1 15 1 63 2 a 1 "
    "3l 2 6 2 1 1 3c 1 3d 2 3i 1 3m 8 3g 1 7 1 4 1 5m 1 15 1 3e 1 22 1 f 1 a 2 4l n 2 6 k 1*6 4 1z 1 1k 8 "
    "1 6 1 d 33 6 26 2 2j 1 h0 9 13 a 2u 1 h8 2 18 2 26 3 1z 2 4d 3 1 4 10 b 8l 1 3 2 48 y u 2 3k 7 1 6 "
    "4g 2 a h 9 c 3g 4 1n 5 1q 2 1s 8 b 1 kp 1 1 3 b 3 d 3 d 3 d 2 h o 8 1b r 5 b 5 h x 1r 2 1 4 1 2 a 1 "
    "1 3 5 6 1*6 4 1 b 2 4 5 5 4 1 1 1m 2 4 ii m b 29 q 22 hi u rk 2 w 1 2x 6d 6 e 4 1 2 34 1 3z 1b 1 1a "
    "y q 1 2h c 5y q g 1 4 3 p f 1 5 2 5 3 2j 2 3 1 2i 1 44 2 4 a w 12 9 1 g v b u 8 1 f w a 13 f 8w 534 "
    "1s h3k 1j 1j 2 7h 3 2r 1 a 1 37 6 8 n 9 2 2v 2 4d 4 a 4 1m 4 2e 2 14 3 1 1 1d 2 1b 1 2p d g 2 3g 4 n "
    "3 2s 2 g 2 2x 1 e 2 3j 1 fnh 1 3s h aj i 3j 1 18 4 g a m z 1 j 1 4 45 f a 7 q 6 q b 3e 7 1 7 d 2 76 "
    "3 1g 9 1l h 2 3 1 d 3 1 1b 19 bm 1 1c 1 bi 1 kn 1 v 2 4m 1 v 1 7k 9 12 1 20 1 13 7 1u 7 2h 4 cx 1 v "
    "2 7x 1 4n 5 18 4 59 7 31 2 1 4 3i 4 1c 2 27 4 4 1 d 1 1 3 2g 6 2z 1 8a 2 1 2 36 5 a 2 1 1 2w 1 6y n "
    "2x 3 s d 24 1 3m 4 6z 1 7c 3 4b 1 2k 8 2b 3 1 5 2l a 5z 1 2n 5 16 2 hx 2 22 d 3p t d 1 vk 5 29o 2 "
    "bjv 2 3p 1 1t 9 4 2 fb 3 87 4 93 1 f5l 1 2 1 31c 6o g c4 4c 38 1o 6u a 13 2 1o 5 3 m 2 7 u 4 1p l 1u "
    "3 1 56 2f oa 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 1o e8 1j 4 1e 8 1 e 1 7 1c3 1 bz 1 lb 1 ny 2 ng 1 "
    "3 1 3h 1 ch 2 7i 18 4 2s c f 2 f 1 f 1 11 n z q 6 q 6 q 10 1k t d 18 4 9 7 2 e 6 4a rc 4 h 3 d 3 3b "
    "4 2n 6 c 4 1 f c 4 1k 8 a 6 14 8 u 2 c 4 2 1q 9g c e 2 d 3 a 5 1k 7 f 2 b 6 9 7 43 1 2k"
)

# The visible characters that are neither letters, digits nor punctuation.
OTHER_GRAPH = (
    "4t 1 4 2 5 1 2 3 g1 1x 1 t 80 7 7b v 28 6 m 1 1n 1 7 a 37 1 1 2 9 3 3 a l 1 1c b 39 a x 9 9 1 q 2 j 1 "
    "17 3 1g 2 6 8 16 a c 3 7 6 24 1 g 1 3 4 h a 24 1 g 1 o a 4 6 4 1 1p 1 g 1 o a 24 1 g 1 o a d 3 1o 1 g "
    "1 7 1 g a 2 6 2d 1 o d 21 1 g 1 o a 8 7 1p 1 g 1 o a 23 2 g 1 a 7 7 j 29 1 r a 2f 6 1*3 a 2o 1 d 5 "
    "1*3 a 1q 2 6 k 1*6 4 2 1w 1 1 2 1q 1 34 1 1 2 5 a 1y a jn 3 9 k pj 2 u 1 3j 2 j b 9 1 2 a 6 a h f 7z "
    "3 a a 3k b 3p 1 k 8 2 b 6 a m f 2 b 2w 1 f 1 b a h 9 1i 2 4 a 18 1 b 2 1v 1 8 a 6 a 3a 3 1 l 4 1 6 1 "
    "2 3 5i j y b ej 5 q 5 1d 5 1 b 3 6 6 a 1y x 2n g 15 1 k6 1o 26 m hi u 123 3 b 1 3l 1 iy 6 2x 2 6v 4 "
    "3u a u 8 1 f w a 13 f msg a 1x 4 9 2 36 2 7o 1 11 1 3 6 3y 1 b a 6 i e a x 3 11 1 2n 1 c 1 f a m a 2e "
    "a 2t 1*3 1g 1 6t 2 2 a a9y 4xs zk g*3 5r 1 g a 67 3 7f 19 1t 4 h 2 35 1 6a s 10 4 ak a q6 8 p 7 13 9 "
    "23 5 m 6 4g 2 2 g 2 1a 1k 3 4 a 1g 2 u 3 1x 2 4 5 2w 8 o 8 15 7 96 6 1c a 6 a w 4 6q v 3i 3 t a v f "
    "19 4 1r 7 3e 1 b v e 1 1l 2 2 1 f 1 y a 1l 2 1 a 1f 1 24 1 8 4 3 a 7 k 1s 2 4y 2 5 a 1t 2 g 1 o 7 3 5 "
    "2h 3 1 1 e 2 2n 1 3 1 9 a 4 1 2r 2 c a 6d 2 3i 1 g a 2k 2 8 a 6 k 1z 1 4 c 71 2 4l j 22 2 4 1 c a 3q "
    "1 2a 2 i 1 28 2 9i a 1x 1 g t 5x 1 1 2 a a 1p 1 8 a bb 2 d b 2t l 40r h 6 f 8ux b 1t2 a 2e a 12 5 1n "
    "7 p a 1 7 em a 7a n 99 1 f5k 1 2 4 37w a ee 1a 2 n f2 5 3 m 2 7 u 4 44 3 3f k c k 30 p ut 1e e8 1j 4 "
    "1e 8 1 e 1 m 5 1 f 1a8 7 9 a 9w 1 1p e du e 6s 2 1 a jw g 31 3 1 3 5 a lz 1n 1 3 1 4 24 19 1 f qq d "
    "25f a gvlz 1 u 2o 3k 6o 1e6o 1eke 2 1eke"
)

TO_LOWER = (
    "1t.q.w 3j.n.w o.7.w 14.o/.1 1c.1.-5j 2.3/.1 7.8/.1 h.n/.1 1a.1.-3d 1.3/.1 8.1.5u 1.2/.1 4.1.5q 1.1.1 "
    "2.2.5p 2.1.1 3.1.27 1.1.5m 1.1.5n 1.1.1 2.1.5p 1.1.5r 2.1.5v 1.1.5t 1.1.1 4.1.5v 1.1.5x 2.1.5y "
    "1.3/.1 6.1.62 1.1.1 2.1.62 3.1.1 2.1.62 1.1.1 2.2.61 2.2/.1 4.1.63 1.1.1 4.1.1 8.1.2 1.1.1 2.1.2 "
    "1.1.1 2.1.2 1.9/.1 j.9/.1 j.1.2 1.2/.1 4.1.-2p 1.1.-1k 1.k/.1 14.1.-3m 2.9/.1 o.1.8bv 1.1.1 2.1.-4j "
    "1.1.8bs 3.1.1 2.1.-5f 1.1.1x 1.1.1z 1.5/.1 8a.2/.1 6.1.1 9.1.38 7.1.12 2.3.11 4.1.1s 2.2.1r 3.h.w "
    "i.9.w 18.1.8 9.c/.1 s.1.-1o 3.1.1 2.1.-7 1.1.1 3.3.-3m 3.g.28 g.w.w 28.h/.1 16.r/.1 1i.1.f 1.7/.1 "
    "f.1c/.1 2p.12.1c 29b.12.5ls 13.1.5ls 6.1.5ls k3.28.tzk 28.6.8 1p5.1.1 7.17.-2bk 19.3.-2bk 8z.23/.1 "
    "4e.1.-5vj 2.1c/.1 2w.8.-8 g.6.-8 g.8.-8 g.8.-8 g.6.-8 h.4/.-8 f.8.-8 w.8.-8 g.8.-8 g.8.-8 g.2.-8 "
    "2.2.-22 2.1.-9 c.4.-2e 4.1.-9 c.2.-8 2.2.-2s e.2.-8 2.2.-34 2.1.-7 c.2.-3k 2.2.-3i 2.1.-9 8a.1.-5st "
    "4.1.-6gv 1.1.-6di 7.1.s 1a.g.g z.1.1 mr.q.q 1fu.1c.1c 2o.1.1 2.1.-8af 1.1.-2xy 1.1.-89z 3.3/.1 "
    "6.1.-8bg 1.1.-8al 1.1.-8bj 1.1.-8bi 2.1.1 3.1.1 9.2.-8cf 2.1e/.1 2z.2/.1 7.1.1 nym.n/.1 1s.e/.1 "
    "4i.7/.1 g.v/.1 1z.2/.1 4.1.-r9g 1.5/.1 d.1.1 2.1.-wmg 3.2/.1 6.a/.1 k.1.-wn8 1.1.-wnj 1.1.-wnf "
    "1.1.-wn5 1.1.-wn8 2.1.-wlu 1.1.-wmi 1.1.-wlx 1.1.ps 1.8/.1 g.1.-1c 1.1.-wn7 1.1.-raw 1.2/.1 4.1.-wo7 "
    "1.1.1 4.1.1 6.3/.1 6.1.-wu9 p.1.1 h7w.q.w yn.14.14 4w.10.14 5c.b.13 c.f.13 g.7.13 8.2.13 1d8.1f.1s "
    "5s.m.w 28g.w.w gww.w.w o8w.y.y"
)

# The letters to which no letter changes in lower case; the rest of this mapping is the inverse of TO_LOWER.
ONLY_TO_UPPER = (
    "51.1.kn 3g.1.-6g 26.1.-8c 1y.1.-1 3.1.-1 3.1.-1 13.1.-1 9f.1.2c 3h.1.-v e.1.-1q 1.1.-1l 4.1.-1b "
    "1.1.-1i q.1.-2e 1.1.-28 4.1.-2o 4uj.1.-4tq 1.1.-4tp 1.1.-4tg 1.2.-4te 2.1.-4tf 1.1.-4t8 1.1.-4rp "
    "1.1.r7m er.1.-1n 83.1.-5k5"
)
