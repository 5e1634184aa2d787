// Package sha256 is SHA-256 (FIPS 180-4). The standard library's brings all of Go's FIPS 140 module into a program: 60 kB of code, and
// 32 MB of zeroed memory, which a device without overcommitted memory has to have (crypto/internal/entropy).
package sha256

import (
	"encoding/binary"
	"hash"
	"math/bits"
)

// Size is the size of a digest in bytes.
const Size = 32

const blockSize = 64

// roundConstants are the first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
var roundConstants = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

// digest is a hash.Hash.
type digest struct {
	h    [8]uint32
	rest [blockSize]byte // of size bytes the last, which make no whole block
	size uint64          // bytes that were written
}

// New returns a new hash.
func New() hash.Hash {
	d := new(digest)
	d.Reset()
	return d
}

// Sum256 is the digest of data.
func Sum256(data []byte) (sum [Size]byte) {
	d := new(digest)
	d.Reset()
	d.Write(data)
	d.Sum(sum[:0])
	return sum
}

// Reset implements hash.Hash's.
func (d *digest) Reset() {
	// The first 32 bits of the fractional parts of the square roots of the first 8 primes (FIPS 180-4, 5.3.3).
	*d = digest{h: [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}}
}

// Size implements hash.Hash's.
func (d *digest) Size() int { return Size }

// BlockSize implements hash.Hash's.
func (d *digest) BlockSize() int { return blockSize }

// Write implements io.Writer's.
func (d *digest) Write(p []byte) (int, error) {
	for left := p; len(left) > 0; {
		have, whole := d.size%blockSize, left
		n := blockSize
		if have > 0 || len(left) < blockSize {
			n = copy(d.rest[have:], left)
			whole = d.rest[:]
		}
		if d.size += uint64(n); d.size%blockSize == 0 {
			d.block(whole)
		}
		left = left[n:]
	}
	return len(p), nil
}

// Sum implements hash.Hash's: the bytes are padded by a bit, zeros, and their length in bits (FIPS 180-4, 5.1.1).
func (d *digest) Sum(b []byte) []byte {
	all := *d
	pad := make([]byte, 1+(blockSize+55-d.size%blockSize)%blockSize, 2*blockSize)
	pad[0] = 0x80
	all.Write(binary.BigEndian.AppendUint64(pad, 8*d.size))
	for _, w := range all.h {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// block hashes the first 64 bytes of p (FIPS 180-4, 6.2.2).
func (d *digest) block(p []byte) {
	w := schedule((*[blockSize]byte)(p))
	a, b, c, e, f, g := d.h[0], d.h[1], d.h[2], d.h[4], d.h[5], d.h[6]
	last, fourth := d.h[7], d.h[3] // h and d of the standard
	for i, k := range roundConstants {
		s1 := bits.RotateLeft32(e, -6) ^ bits.RotateLeft32(e, -11) ^ bits.RotateLeft32(e, -25)
		t1 := last + s1 + (e&f ^ ^e&g) + k + w[i]
		s0 := bits.RotateLeft32(a, -2) ^ bits.RotateLeft32(a, -13) ^ bits.RotateLeft32(a, -22)
		t2 := s0 + (a&b ^ a&c ^ b&c)
		last, g, f, e = g, f, e, fourth+t1
		fourth, c, b, a = c, b, a, t1+t2
	}
	for i, v := range [8]uint32{a, b, c, fourth, e, f, g, last} {
		d.h[i] += v
	}
}

// schedule are the words of a block and those made of them (FIPS 180-4, 6.2.2, step 1).
func schedule(p *[blockSize]byte) (w [64]uint32) {
	for i := range 16 {
		w[i] = binary.BigEndian.Uint32(p[4*i:])
	}
	for i := 16; i < 64; i++ {
		x, y := w[i-15], w[i-2]
		s0 := bits.RotateLeft32(x, -7) ^ bits.RotateLeft32(x, -18) ^ x>>3
		s1 := bits.RotateLeft32(y, -17) ^ bits.RotateLeft32(y, -19) ^ y>>10
		w[i] = w[i-16] + s0 + w[i-7] + s1
	}
	return w
}
