package main

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/backsight/backsight/service/lab/fleet"
	"github.com/backsight/backsight/testdata"
	"github.com/klauspost/compress/zstd"
)

// zeros is how much a bomb unpacks to, patience how long a slow sender goes on, in pauses.
const zeros, patience = 1 << 30, 30

// names are what a sender may call anything.
func names() []string {
	return []string{"../../../../etc/passwd", "/etc/shadow", `..\..\x`, ".", "", "a\x00b", "\x1b[2J\x1b]0;x\a", "<script>alert(1)</script>",
		`"><img src=x onerror=alert(1)>`, "{{.}}", "'; DROP TABLE captures; --", strings.Repeat("A", 4000), "\u202egnp.exe", "%2e%2e%2f"}
}

func name() string { list := names(); return list[mathrand.IntN(len(list))] }

// hostile are senders by what they do, each once.
func (k *soak) hostile() map[string]func() (status int, err error) {
	return map[string]func() (int, error){
		"slow header":      k.slowHeader,
		"slow body":        k.slowBody,
		"lying length":     k.lyingLength,
		"bomb":             k.bomb,
		"names":            k.names,
		"form":             k.form,
		"forged key":       k.forgedKey,
		"replay":           k.replay,
		"damaged capture":  k.damaged,
		"noise everywhere": k.noise,
		"binary":           k.binary,
	}
}

func (k *soak) dial() (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(k.s.Base, "http://"), time.Second*10)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(3 * time.Minute))
	}
	return conn, err
}

// raw sends text by a connection of its own, in parts with pauses between them, and waits for a status.
func (k *soak) raw(pause time.Duration, parts ...string) (int, error) {
	conn, err := k.dial()
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	for _, p := range parts {
		if _, err := io.WriteString(conn, p); err != nil || k.ctx.Err() != nil {
			return 0, nil // it was not waited for
		}
		time.Sleep(pause)
	}
	var version string
	status := 0
	_, _ = fmt.Fscan(conn, &version, &status) // 0: there was no answer
	return status, nil
}

func split(s string, n int) (parts []string) {
	for i := range n {
		parts = append(parts, s[len(s)*i/n:len(s)*(i+1)/n])
	}
	return parts
}

func (k *soak) head(length string) string {
	return fmt.Sprintf("POST /api/v1/captures?key=%s&device=slow HTTP/1.1\r\nHost: x\r\nContent-Length: %s\r\n\r\n", k.s.Key, length)
}

func (k *soak) slowHeader() (int, error) {
	return k.raw(time.Second, split(k.head("100"), patience)...)
}

func (k *soak) slowBody() (int, error) {
	return k.raw(time.Second, append([]string{k.head("1000000")}, split(strings.Repeat("x", 100_000), patience)...)...)
}

func (k *soak) lyingLength() (int, error) {
	lies := []string{"9223372036854775807", "-1", "99999999999999999999", "0x10", "1 0", "18", "104857601"}
	return k.raw(0, k.head(lies[mathrand.IntN(len(lies))]), "a body of 20 bytes..")
}

// bomb is a gigabyte of zeros in a megabyte, or less.
func (k *soak) bomb() (int, error) {
	form := []string{"gzip", "zstd", ""}[mathrand.IntN(3)]
	body := k.bombs[mathrand.IntN(len(k.bombs))]
	return k.send("POST", "/api/v1/captures?device=bomb&n="+fmt.Sprint(mathrand.Int()), body, "Content-Encoding", form)
}

func bombs() ([][]byte, error) {
	var g, z bytes.Buffer
	to := gzip.NewWriter(&g)
	_, err := io.CopyN(to, endless{}, zeros)
	if err == nil {
		err = to.Close()
	}
	if err != nil {
		return nil, err
	}
	other, err := zstd.NewWriter(&z)
	if err == nil {
		_, err = io.CopyN(other, endless{}, zeros)
	}
	if err == nil {
		err = other.Close()
	}
	return [][]byte{g.Bytes(), z.Bytes(), g.Bytes()[:g.Len()/2]}, err
}

// endless is zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func (k *soak) names() (int, error) {
	q := url.Values{"device": {name()}, "product": {name()}, "version": {name()}, "file": {name()}, "id": {name()}}
	return k.send("POST", "/api/v1/captures?"+q.Encode(), fleet.Capture(mathrand.Int64N(1000)))
}

func (k *soak) form() (int, error) {
	var b strings.Builder
	for range mathrand.IntN(600) {
		fmt.Fprintf(&b, "--b\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", name(), name())
	}
	fmt.Fprintf(&b, "--b\r\nContent-Disposition: form-data; name=\"upload_file_minidump\"; filename=%q\r\n\r\nMDMP%s\r\n--b--", name(), noise(200))
	return k.send("POST", "/submit", []byte(b.String()), "Content-Type", "multipart/form-data; boundary=b")
}

func (k *soak) forgedKey() (int, error) {
	return k.sendAs(name(), "POST", "/api/v1/captures?device=x", []byte("x"))
}

// replay sends the same capture of the same device by the same id.
func (k *soak) replay() (int, error) {
	return k.send("POST", "/api/v1/captures?device=replay&id=1", fleet.Capture(1))
}

// damaged is a capture of the demonstration in which bytes are others.
func (k *soak) damaged() (int, error) {
	list := []string{"mips-deref/core.gz", "x86_64-threads/core.gz"}
	packed, err := testdata.Demo.ReadFile(list[mathrand.IntN(len(list))])
	if err != nil {
		return 0, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return 0, err
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	for range 1 + mathrand.IntN(40) {
		b[mathrand.IntN(len(b))] = byte(mathrand.Uint32())
	}
	return k.send("POST", "/api/v1/captures?device=damaged", b[:len(b)-mathrand.IntN(len(b)/4)])
}

func noise(most int) []byte {
	b := make([]byte, mathrand.IntN(most)+1)
	_, _ = rand.Read(b) // never fails
	return b
}

// noise sends bytes that mean nothing to each form of intake.
func (k *soak) noise() (int, error) {
	paths := []string{"/api/v1/offers", "/api/v1/logs?device=x", "/api/1/minidump/", "/api/1/envelope/", "/api/v0/chunks/x", "/v1/uploads:create",
		"/v1/uploads/x:complete", "/api/0/organizations/x/chunk-upload/", "/api/0/projects/x/y/files/difs/assemble/", "/submit", "/api/v1/captures"}
	body := noise(5000)
	if mathrand.IntN(2) == 0 {
		body = append([]byte(`{"exact":"`+strings.Repeat("a", mathrand.IntN(3000))), body...)
	}
	return k.send("POST", paths[mathrand.IntN(len(paths))], body)
}

func (k *soak) binary() (int, error) {
	b := []byte("MODULE Linux mips " + name() + " " + name() + "\nPUBLIC 0 0 x\n")
	if mathrand.IntN(2) == 0 {
		b = append([]byte("\x7fELF\x02\x01\x01"), noise(4000)...)
	}
	return k.send("PUT", "/api/v1/binaries?file="+url.QueryEscape(name()), b)
}
