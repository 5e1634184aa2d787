package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/sio"
)

// ErrAway says that what keeps bodies cannot be asked now, and may be later.
var ErrAway = errors.New("the store is away")

// S3 is a Store of objects in a bucket, for any number of processes. What is appended at once is one object: records as a Disk's
// segment has them, under a random number of 64 bits, by which two of ten million objects are the same with a chance of 3 in a million.
type S3 struct {
	client         *minio.Client
	bucket, prefix string
	key            []byte
	stored         atomic.Int64 // bytes, of this process's knowledge
}

// tries bounds how often an object is sent, firstPause is before the second time.
const tries, firstPause = 3, 200 * time.Millisecond

// IsS3 tells the URL of a bucket from a path.
func IsS3(place string) bool { return strings.HasPrefix(place, "s3://") }

// OpenS3 opens the bucket of a URL, s3://KEY:SECRET@HOST/BUCKET/PREFIX?region=R&tls=off, and makes it where there is none. Without KEY and
// SECRET they are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the environment. A secret of 32 bytes encrypts bodies.
func OpenS3(ctx context.Context, place string, secret []byte) (*S3, error) {
	u, err := url.Parse(place)
	if err != nil {
		return nil, errors.New("the S3 URL cannot be read") // it may have a secret: it is not told
	}
	bucket, prefix, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if u.Scheme != "s3" || u.Host == "" || bucket == "" {
		return nil, errors.New("an S3 URL is s3://KEY:SECRET@HOST/BUCKET")
	}
	if secret != nil && len(secret) != keySize {
		return nil, fmt.Errorf("the key has %d bytes, not %d", len(secret), keySize)
	}
	known := credentials.NewEnvAWS()
	if password, ok := u.User.Password(); ok {
		known = credentials.NewStaticV4(u.User.Username(), password, "")
	}
	through := http.DefaultTransport.(*http.Transport).Clone()
	through.ResponseHeaderTimeout = 20 * time.Second
	through.MaxIdleConnsPerHost = 64
	client, err := minio.New(u.Host, &minio.Options{Creds: known, Secure: u.Query().Get("tls") != "off", Region: u.Query().Get("region"), Transport: through, MaxRetries: tries})
	if err != nil {
		return nil, err
	}
	if prefix != "" {
		prefix += "/"
	}
	s := &S3{client: client, bucket: bucket, prefix: prefix, key: secret}
	return s, s.begin(ctx, u.Query().Get("region"))
}

// begin makes the bucket where there is none.
func (s *S3) begin(ctx context.Context, region string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	there, err := s.client.BucketExists(ctx, s.bucket)
	if err == nil && !there {
		err = s.client.MakeBucket(ctx, s.bucket, minio.MakeBucketOptions{Region: region})
		if code := minio.ToErrorResponse(err).Code; code == "BucketAlreadyOwnedByYou" || code == "BucketAlreadyExists" {
			err = nil // another node was faster
		}
	}
	return away(err)
}

// away says of an error that it is ErrAway, or fs.ErrNotExist.
func away(err error) error {
	switch {
	case err == nil:
		return nil
	case minio.ToErrorResponse(err).Code == "NoSuchKey":
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return fmt.Errorf("%w: %w", ErrAway, err)
}

func (s *S3) name(segment uint64) string { return fmt.Sprintf("%sbodies/%016x", s.prefix, segment) }

// Append implements Store.
func (s *S3) Append(ctx context.Context, bodies []Body) (refs []Ref, err error) {
	lengths := make([]int64, len(bodies))
	var size int64
	for i := range bodies {
		if lengths[i], err = s.length(bodies[i].Size); err != nil {
			return nil, err
		}
		size += lengths[i]
	}
	var segment uint64
	pause := firstPause
	for n := 1; ; n++ {
		if segment, err = s.send(ctx, bodies, size); err == nil || n == tries || !errors.Is(err, ErrAway) {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
			pause *= 2
		}
	}
	if err != nil {
		return nil, err
	}
	var at int64
	for _, n := range lengths {
		refs = append(refs, Ref{segment, at, n})
		at += n
	}
	s.stored.Add(size)
	return refs, nil
}

// length is that of a body of so many bytes as it is kept.
func (s *S3) length(size int64) (int64, error) {
	if s.key == nil || size == 0 {
		return headerSize + size, nil
	}
	n, err := sio.EncryptedSize(uint64(size))
	return headerSize + int64(n), err
}

// send writes an object. An object that was sent in vain may be there all the same: nobody names it, and Compact takes it.
func (s *S3) send(ctx context.Context, bodies []Body, size int64) (segment uint64, err error) {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	segment = binary.LittleEndian.Uint64(b[:])
	from, to := io.Pipe()
	read := make(chan error, 1)
	go func() {
		var err error
		for i := range bodies {
			if err == nil {
				_, err = write(ctx, to, &bodies[i], s.key)
			}
		}
		_ = to.CloseWithError(err) // never fails
		read <- err
	}()
	_, sent := s.client.PutObject(ctx, s.bucket, s.name(segment), from, size, minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/octet-stream"})
	_ = from.CloseWithError(io.ErrClosedPipe) // never fails
	if err := <-read; err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return 0, err // the sender's body, not the store
	}
	return segment, away(sent)
}

// Open implements Store.
func (s *S3) Open(ref Ref) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	r, err := s.open(ctx, ref)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	return &object{r.Reader, r.Closer, cancel}, nil
}

// object is a body that is read, which takes a minute at the most.
type object struct {
	io.Reader
	io.Closer
	cancel func()
}

// Close implements io.Closer.
func (o *object) Close() error {
	defer o.cancel()
	return o.Closer.Close()
}

type readCloser struct {
	io.Reader
	io.Closer
}

func (s *S3) open(ctx context.Context, ref Ref) (*readCloser, error) {
	var opt minio.GetObjectOptions
	if err := opt.SetRange(ref.Offset, ref.Offset+ref.Size-1); err != nil {
		return nil, err
	}
	core := minio.Core{Client: s.client}
	got, _, _, err := core.GetObject(ctx, s.bucket, s.name(ref.Segment), opt)
	if err != nil {
		return nil, away(err)
	}
	h, err := firstHeader(got)
	if err == nil && h.length != ref.Size-headerSize {
		err = errHeader
	}
	var body io.Reader = &whole{got, h.length}
	if err == nil && h.flags&sealed != 0 {
		body, err = unseal(s.key, h.salt[:], body)
	}
	if err != nil {
		return nil, errors.Join(err, got.Close())
	}
	return &readCloser{body, got}, nil
}

// whole reads so many bytes: fewer are an error, whatever ended them.
type whole struct {
	from io.Reader
	left int64
}

// Read implements io.Reader.
func (w *whole) Read(p []byte) (int, error) {
	if w.left == 0 {
		return 0, io.EOF
	}
	n, err := w.from.Read(p[:min(int64(len(p)), w.left)])
	w.left -= int64(n)
	if err == io.EOF && w.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err == io.EOF || w.left == 0 {
		err = nil
	}
	return n, err
}

// Compact implements Store. What was written a moment ago stays: whoever wrote it says in the database what of it lives.
func (s *S3) Compact(ctx context.Context, live func(uint64) (map[Ref]Sum, error), moved func(map[Ref]Ref) error) error {
	var all int64
	for o := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + "bodies/", Recursive: true}) {
		if o.Err != nil {
			return away(o.Err)
		}
		all += o.Size
		var segment uint64
		if _, err := fmt.Sscanf(strings.TrimPrefix(o.Key, s.prefix+"bodies/"), "%016x", &segment); err != nil || time.Since(o.LastModified) < settled {
			continue
		}
		refs, err := live(segment)
		if err != nil {
			return err
		}
		var size int64
		for r := range refs {
			size += r.Size
		}
		if size > o.Size/2 {
			continue
		}
		if err := move(ctx, s, refs, moved); err != nil {
			return err
		}
		if err := s.client.RemoveObject(ctx, s.bucket, o.Key, minio.RemoveObjectOptions{}); err != nil {
			return away(err)
		}
		all -= o.Size - size
	}
	s.stored.Store(all)
	return nil
}

// Size implements Store: what was there when Compact looked last, and what this process has appended since.
func (s *S3) Size() (int64, error) { return s.stored.Load(), nil }

// Close implements Store.
func (s *S3) Close() error { return nil }

// Put keeps a file under a name, beside bodies.
func (s *S3) Put(ctx context.Context, name, path string) error {
	_, err := s.client.FPutObject(ctx, s.bucket, s.prefix+name, path, minio.PutObjectOptions{ContentType: "application/octet-stream"})
	return away(err)
}

// Get writes what Put kept into a file. The error is fs.ErrNotExist where there is none.
func (s *S3) Get(ctx context.Context, name string, to *os.File) error {
	core := minio.Core{Client: s.client}
	from, info, _, err := core.GetObject(ctx, s.bucket, s.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return away(err)
	}
	defer from.Close()
	_, err = io.Copy(to, &whole{from, info.Size})
	return err
}
