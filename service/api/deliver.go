package api

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/smtp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/groups"
)

// Teller tells webhooks and people by mail of what became of groups.
type Teller struct {
	DB *db.DB
	// Base is the service's own address, for links.
	Base string
	Mail Mail
	Now  func() time.Time
}

// Mail is the server by which mail is sent. Host is NAME:PORT; "": none is sent. TLS is used where the server offers it; a
// password is only sent with TLS, or to this machine.
type Mail struct{ Host, User, Password, From string }

const (
	// maxAttempts bounds how often a delivery is tried: the last time four hours after the first.
	maxAttempts = 9
	firstWait   = time.Minute
	// atOnce bounds the deliveries of a round, side those that run at a time, patience what one may take.
	atOnce, side, patience = 100, 8, 10 * time.Second
	secretPrefix           = "whsec_" // Standard Webhooks, "Signature scheme"
)

// delivery is an event that somebody is to be told of.
type delivery struct {
	id, group, count     int64
	attempts             int
	url, secret          string
	event, detail, title string
	created              int64
}

// Tell tries all deliveries that are due, and notes what became of each. One whose answer is lost is made again, with the same id.
func (t *Teller) Tell(ctx context.Context) error {
	client := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	due, err := all(ctx, t.DB.Read, func(r *sql.Rows, d *delivery) error {
		return r.Scan(&d.id, &d.group, &d.count, &d.attempts, &d.url, &d.secret, &d.event, &d.detail, &d.title, &d.created)
	}, `SELECT d.id, d.group_id, g.count, d.attempts, w.url, w.secret, d.event, d.body, g.title, d.created FROM deliveries d
JOIN webhooks w ON w.id = d.webhook_id JOIN groups g ON g.id = d.group_id WHERE d.state = 'waiting' AND d.due <= $1 ORDER BY d.due LIMIT $2`, db.Milli(t.Now()), atOnce)
	if err != nil {
		return err
	}
	answers := make([]string, len(due))
	failures := make([]error, len(due))
	var wait sync.WaitGroup
	slots := make(chan struct{}, side)
	for i := range due {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			answers[i], failures[i] = t.one(ctx, client, &due[i])
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return t.DB.Tx(ctx, func(tx *sql.Tx) error {
		for i := range due {
			if err := t.note(ctx, tx, &due[i], answers[i], failures[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// note writes what became of a delivery.
func (t *Teller) note(ctx context.Context, tx *sql.Tx, d *delivery, answer string, failed error) error {
	state, due := "sent", d.created
	if failed != nil {
		state, answer = "waiting", failed.Error()
		due = db.Milli(t.Now().Add(firstWait << d.attempts))
		if d.attempts+1 >= maxAttempts {
			state = "failed"
		}
	}
	_, err := tx.ExecContext(ctx, "UPDATE deliveries SET state = $1, attempts = attempts + 1, due = $2, answer = $3 WHERE id = $4",
		state, due, answer[:min(len(answer), maxShort)], d.id)
	return err
}

// says is an event in a sentence.
func (d *delivery) says() string {
	switch {
	case d.event == groups.Regressed && d.detail != "":
		return "came back in " + d.detail
	case d.event == groups.Regressed:
		return "came back"
	case d.event == groups.Spike:
		return "has a spike: " + d.detail
	case d.detail != "":
		return "is new, in " + d.detail
	}
	return "is new"
}

func (t *Teller) link(d *delivery) string {
	return fmt.Sprintf("%s/groups/%d", strings.TrimSuffix(t.Base, "/"), d.group)
}

// one tells of one event, and returns what was answered.
func (t *Teller) one(ctx context.Context, client *http.Client, d *delivery) (string, error) {
	if to, ok := strings.CutPrefix(d.url, "mailto:"); ok {
		return "sent", t.mail(ctx, d, to)
	}
	body, err := json.Marshal(map[string]any{"type": "group." + d.event, "timestamp": at(d.created).Format(time.RFC3339), "data": map[string]any{
		"group": d.group, "title": d.title, "count": d.count, "detail": d.detail, "url": t.link(d), "says": d.title + " " + d.says()}})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	id, stamp := "backsight_"+strconv.FormatInt(d.id, 10), strconv.FormatInt(t.Now().Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", stamp)
	r.Header.Set("webhook-signature", Sign(d.secret, id, stamp, body))
	a, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	if a.StatusCode/100 != 2 {
		return "", errors.New(a.Status)
	}
	return a.Status, nil
}

// Sign is the signature of what a webhook is told (Standard Webhooks 1.0): HMAC-SHA256 of id, time and body, between dots.
func Sign(secret, id, stamp string, body []byte) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil {
		key = []byte(secret)
	}
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "%s.%s.%s", id, stamp, body)
	return "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// mail tells of one event by mail.
func (t *Teller) mail(ctx context.Context, d *delivery, to string) error {
	if t.Mail.Host == "" {
		return errors.New("no mail server is configured")
	}
	name, _, err := net.SplitHostPort(t.Mail.Host)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", t.Mail.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	c, err := smtp.NewClient(conn, name)
	if err != nil {
		return err
	}
	return t.send(c, name, to, t.message(d, to))
}

// message is a mail (RFC 5322).
func (t *Teller) message(d *delivery, to string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "From: %s\r\nTo: %s\r\nSubject: %s\r\nDate: %s\r\nMessage-ID: <%d.%d@backsight>\r\n", t.Mail.From, to,
		mime.QEncoding.Encode("utf-8", d.title+" "+d.says()), at(d.created).Format(time.RFC1123Z), d.id, d.created)
	fmt.Fprintf(&b, "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n")
	text := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s\n%s\n\n%d crashes\n%s\n", d.title, d.says(), d.count, t.link(d)))
	const width = 76 // RFC 2045, 6.8
	for ; len(text) > width; text = text[width:] {
		b.WriteString(text[:width] + "\r\n")
	}
	b.WriteString(text + "\r\n")
	return b.Bytes()
}

func (t *Teller) send(c *smtp.Client, name, to string, message []byte) error {
	defer c.Close()
	if ok, _ := c.Extension("STARTTLS"); ok {
		if err := c.StartTLS(&tls.Config{ServerName: name}); err != nil {
			return err
		}
	}
	if t.Mail.User != "" {
		if err := c.Auth(smtp.PlainAuth("", t.Mail.User, t.Mail.Password, name)); err != nil {
			return err
		}
	}
	if err := errors.Join(c.Mail(t.Mail.From), c.Rcpt(to)); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(message); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return c.Quit()
}
