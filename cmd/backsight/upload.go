//go:build !small

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/backsight/backsight/internal/jsonreport"
)

// upload sends reports of crashes to a service (backsightd): first what a crash is called, and the report only where the service does
// not know it well enough. What is sent goes by curl.
type upload struct {
	base  url.URL // with the key, and what the user says of the device
	pause time.Duration
}

// uploadTries bounds how often the service is asked, uploadTime how long it may take to answer.
const uploadTries, uploadTime = 5, 20

// newUpload reads --upload.
func newUpload(text string) (*upload, error) {
	base, err := url.Parse(text)
	if err != nil || base.Scheme != "https" && base.Scheme != "http" || base.Host == "" {
		return nil, errors.New("crash: --upload wants the URL of a service: https://HOST/?key=KEY")
	}
	u := &upload{base: *base, pause: 2 * time.Second}
	q := u.base.Query()
	if q.Get("device") == "" {
		name, _ := os.Hostname()
		q.Set("device", name)
	}
	u.base.RawQuery = q.Encode()
	return u, nil
}

// to is a place of the service.
func (u *upload) to(path string) string {
	at := u.base
	at.Path = strings.TrimSuffix(at.Path, "/") + path
	return at.String()
}

// send offers a report, and sends it if the service asks for it. It waits longer each time that the service cannot be reached or says
// later: other devices crash at the same time.
func (u *upload) send(ctx context.Context, report []byte) error {
	pause := u.pause
	var err error
	for range uploadTries {
		var answer string
		if answer, err = u.offer(ctx, report); err == nil && answer == "send" {
			_, err = u.post(ctx, u.to("/api/v1/captures")+"&file=report.json", report)
		}
		if err == nil && answer != "later" {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause *= 3
	}
	if err == nil {
		err = errors.New("the service wants it later")
	}
	return fmt.Errorf("upload: %w", err)
}

// offer asks what the service wants of a crash: "known", "send" or "later".
func (u *upload) offer(ctx context.Context, report []byte) (string, error) {
	q := u.base.Query()
	offer := map[string]string{"device": q.Get("device"), "product": q.Get("product"), "version": q.Get("version")}
	err := jsonreport.Each(ctx, bytes.NewReader(report), func(r *jsonreport.Report) error {
		if t := r.Named(); t != nil {
			offer["exact"], offer["stable"] = t.Own.Signature.Exact, t.Own.Signature.Stable
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(offer)
	if err != nil {
		return "", err
	}
	out, err := u.post(ctx, u.to("/api/v1/offers"), body)
	if err != nil {
		return "", err
	}
	var said struct{ Answer string }
	return said.Answer, json.Unmarshal(out, &said)
}

// post sends bytes, and returns the answer. The URL is told on standard input: arguments are seen by all users.
func (u *upload) post(ctx context.Context, to string, body []byte) ([]byte, error) {
	f, err := os.CreateTemp("", "backsight-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(body)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	const quiet = "silent\nshow-error\nfail\nproto = \"=http,https\"\n"
	config := fmt.Sprintf("%smax-time = %d\nurl = %q\ndata-binary = %q\nheader = \"Content-Type: application/json\"\n", quiet, uploadTime, to, "@"+f.Name())
	cmd := exec.CommandContext(ctx, "curl", "--disable", "--config", "-")
	cmd.Stdin = strings.NewReader(config)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("curl: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return out, nil
}
