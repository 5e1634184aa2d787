package store

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/minio/sio"
)

// A header stands before each body, little endian: "BSR1", flags, the length of what is kept, the body's sum, a salt, and the
// CRC-32 of all that.
const headerSize, checked = 64, 60

// sealed is the flag of a body that is encrypted.
const sealed = 1

// keySize is that of AES-256.
const keySize = 32

var errHeader = errors.New("no body begins there")

type header struct {
	flags  uint32
	length int64
	sum    Sum
	salt   [12]byte
}

func (h *header) bytes() []byte {
	b := append(make([]byte, 0, headerSize), "BSR1"...)
	b = binary.LittleEndian.AppendUint32(b, h.flags)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.length))
	b = append(b, h.sum[:]...)
	b = append(b, h.salt[:]...)
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func readHeader(r io.ReaderAt, at int64) (h header, err error) {
	return firstHeader(io.NewSectionReader(r, at, headerSize))
}

// firstHeader is the header that a reader begins with.
func firstHeader(r io.Reader) (h header, err error) {
	var b [headerSize]byte
	if _, err = io.ReadFull(r, b[:]); err != nil {
		return h, err
	}
	if string(b[:4]) != "BSR1" || crc32.ChecksumIEEE(b[:checked]) != binary.LittleEndian.Uint32(b[checked:]) {
		return h, errHeader
	}
	h.flags, h.length = binary.LittleEndian.Uint32(b[4:]), int64(binary.LittleEndian.Uint64(b[8:]))
	copy(h.sum[:], b[16:])
	copy(h.salt[:], b[48:])
	if h.length < 0 {
		return h, errHeader
	}
	return h, nil
}

// write writes a body with its header, encrypted where there is a key, and tells how many bytes that makes.
func write(ctx context.Context, to io.Writer, b *Body, key []byte) (size int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	body, err := b.Open()
	if err != nil {
		return 0, err
	}
	defer body.Close()
	h := header{sum: b.Sum, length: b.Size}
	var from io.Reader = body
	if key != nil && b.Size > 0 {
		h.flags |= sealed
		if _, err = rand.Read(h.salt[:]); err != nil {
			return 0, err
		}
		if from, h.length, err = seal(key, h.salt[:], body, b.Size); err != nil {
			return 0, err
		}
	}
	if _, err = to.Write(h.bytes()); err != nil {
		return 0, err
	}
	n, err := io.Copy(to, io.LimitReader(from, h.length+1))
	if err == nil && n != h.length {
		err = fmt.Errorf("a body of %d bytes has %d", h.length, n)
	}
	return headerSize + h.length, err
}

// cipher is how a body with a salt is encrypted: AES-256-GCM in packages of 64 kB (DARE 2.0), by a key of its own.
func cipher(key, salt []byte) (sio.Config, error) {
	own, err := hkdf.Key(sha256.New, key, salt, "backsight body", keySize)
	return sio.Config{MinVersion: sio.Version20, CipherSuites: []byte{sio.AES_256_GCM}, Key: own}, err
}

// seal encrypts a body of so many bytes, and says how many that makes.
func seal(key, salt []byte, body io.Reader, size int64) (io.Reader, int64, error) {
	c, err := cipher(key, salt)
	if err != nil {
		return nil, 0, err
	}
	n, err := sio.EncryptedSize(uint64(size))
	if err != nil {
		return nil, 0, err
	}
	r, err := sio.EncryptReader(io.LimitReader(body, size), c)
	return r, int64(n), err
}

// unseal decrypts what seal made.
func unseal(key, salt []byte, body io.Reader) (io.Reader, error) {
	if key == nil {
		return nil, errors.New("the body is encrypted, and there is no key")
	}
	c, err := cipher(key, salt)
	if err != nil {
		return nil, err
	}
	return sio.DecryptReader(body, c)
}
