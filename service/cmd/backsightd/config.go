package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/peterbourgon/ff/v3"
)

// config is what flags, environment and file say.
type config struct {
	data, listen, url string
	shared            shared
	tls               pair
	secret            string // the file of the key that bodies are encrypted by
	sysroots          string
	debuginfod        string
	watch, syslog     string
	told              told
	workers           int
	limits            limits
	mail              mail
	oidc              oidc
}

// told is how others are told what is done: the form of the log, and the URL of a collector of spans, "" for none.
type told struct{ logs, otlp string }

// pair are the files of a certificate and its key.
type pair struct{ cert, key string }

// shared is what several nodes have together, and what this one does of the work.
type shared struct{ database, store, role string }

// What a node does: all, or what devices and browsers ask for, or backtraces.
const roleAll, roleIntake, roleWorker = "all", "intake", "worker"

// limits are bounds of what the service takes, in bytes where they are no times and counts.
type limits struct {
	memory, packed, raw, binary, reserve int64
	copies                               int64
	connections                          int
	childMemory                          int64
	childTime                            time.Duration
}

type mail struct{ host, user, password, from string }

type oidc struct{ issuer, client, secret, claim, admins, triagers string }

// parse reads the configuration of a command, and returns the arguments that are no flags.
func parse(command string, args []string, stderr io.Writer) (*config, []string, error) {
	var c config
	f := flag.NewFlagSet("backsightd "+command, flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, usage, "\nFlags:\n")
		f.PrintDefaults()
	}
	f.StringVar(&c.data, "data", "", "the `DIR` of all that is kept")
	c.shared.flags(f)
	f.StringVar(&c.listen, "listen", "127.0.0.1:8080", "the `ADDRESS` to serve at")
	f.StringVar(&c.url, "url", "", "the `URL` that browsers come by, for links (http://ADDRESS)")
	f.StringVar(&c.tls.cert, "tls-cert", "", "the `FILE` of the certificate, in PEM")
	f.StringVar(&c.tls.key, "tls-key", "", "the `FILE` of its key")
	f.StringVar(&c.secret, "encrypt", "", "encrypt captures by the 64 hexadecimal digits in `FILE`")
	f.StringVar(&c.sysroots, "sysroot", "", "`DIR`s with files of devices, with : between them")
	f.StringVar(&c.debuginfod, "debuginfod", "", "ask the servers at `URLS`, with blanks between them, for missing binaries")
	f.StringVar(&c.watch, "watch", "", "take captures and binaries that are put into `DIR`")
	f.StringVar(&c.syslog, "syslog", "", "take consoles as syslog by UDP at `ADDRESS`")
	f.StringVar(&c.told.logs, "log", "text", "the form of the log: text, json")
	f.StringVar(&c.told.otlp, "otlp", "", "tell the collector at `URL` what is done (http://HOST:4318/v1/traces)")
	f.IntVar(&c.workers, "workers", runtime.NumCPU(), "backtrace `N` captures at once")
	c.limits.flags(f)
	c.mail.flags(f)
	c.oidc.flags(f)
	f.String("config", "", "a `FILE` with a flag and its value a line")
	if err := ff.Parse(f, args, ff.WithEnvVarPrefix("BACKSIGHTD"), ff.WithConfigFileFlag("config"), ff.WithConfigFileParser(ff.PlainParser)); err != nil {
		return nil, nil, err
	}
	return &c, f.Args(), c.check()
}

func (s *shared) flags(f *flag.FlagSet) {
	f.StringVar(&s.database, "database", "", "keep all but bodies in PostgreSQL at `URL` (postgres://…)")
	f.StringVar(&s.store, "store", "", "keep bodies and binaries in S3 at `URL` (s3://KEY:SECRET@HOST/BUCKET)")
	f.StringVar(&s.role, "role", roleAll, "what this node does: all, intake, worker")
}

func (l *limits) flags(f *flag.FlagSet) {
	f.Int64Var(&l.memory, "memory", 384<<20, "`BYTES` of memory to take")
	f.IntVar(&l.connections, "connections", 4000, "serve `N` connections at once")
	f.Int64Var(&l.packed, "max-packed", 20<<20, "take captures of `BYTES`, compressed")
	f.Int64Var(&l.raw, "max-raw", 100<<20, "and of `BYTES` without compression")
	f.Int64Var(&l.binary, "max-binary", 2<<30, "take binaries of `BYTES`")
	f.Int64Var(&l.copies, "binaries-cache", 20<<30, "keep `BYTES` of binaries beside S3, 0 for all")
	f.Int64Var(&l.reserve, "reserve", 256<<20, "leave `BYTES` of the disk free")
	f.Int64Var(&l.childMemory, "child-memory", 1<<30, "`BYTES` of memory that a backtrace may take")
	f.DurationVar(&l.childTime, "child-time", 45*time.Second, "the `TIME` that a backtrace may take")
}

func (m *mail) flags(f *flag.FlagSet) {
	f.StringVar(&m.host, "smtp-host", "", "the `HOST:PORT` that takes mail")
	f.StringVar(&m.user, "smtp-user", "", "the `NAME` to log in there")
	f.StringVar(&m.password, "smtp-password", "", "the `PASSWORD`; better in the environment")
	f.StringVar(&m.from, "smtp-from", "", "the `ADDRESS` that mail is from")
}

func (o *oidc) flags(f *flag.FlagSet) {
	f.StringVar(&o.issuer, "oidc-issuer", "", "the `URL` of the OpenID provider that users log in by")
	f.StringVar(&o.client, "oidc-client-id", "", "the `ID` of this service there")
	f.StringVar(&o.secret, "oidc-client-secret", "", "its `SECRET`; better in the environment")
	f.StringVar(&o.claim, "oidc-claim", "groups", "the `CLAIM` that has a user's groups")
	f.StringVar(&o.admins, "oidc-admins", "", "the `GROUP` of admins")
	f.StringVar(&o.triagers, "oidc-triagers", "", "the `GROUP` of triagers")
}

func (c *config) check() error {
	l := &c.limits
	switch {
	case c.data == "":
		return errors.New("--data DIR is missing: where is what is collected to be kept?")
	case (c.tls.cert == "") != (c.tls.key == ""):
		return errors.New("--tls-cert and --tls-key go together")
	case c.workers < 0, l.connections < 1, min(l.memory, l.packed, l.raw, l.binary, l.childMemory) < 1, l.childTime < time.Second, min(l.reserve, l.copies) < 0:
		return errors.New("a bound is not above 0")
	case (c.shared.database == "") != (c.shared.store == ""):
		return errors.New("--database and --store go together: nodes that share the one need the other")
	case !slices.Contains([]string{roleAll, roleIntake, roleWorker}, c.shared.role):
		return fmt.Errorf("--role %q is none of all, intake, worker", c.shared.role)
	case c.told.logs != "text" && c.told.logs != "json":
		return fmt.Errorf("--log %q is none of text, json", c.told.logs)
	}
	if c.shared.role == roleIntake {
		c.workers = 0
	}
	if c.url == "" {
		c.url = "http://" + c.listen
		if c.tls.cert != "" {
			c.url = "https://" + c.listen
		}
	}
	c.url = strings.TrimRight(c.url, "/")
	return nil
}

// path is a place below the data.
func (c *config) path(name string) string { return filepath.Join(c.data, name) }

// roots are the folders with files of devices.
func (c *config) roots() (list []string) {
	for _, dir := range append(filepath.SplitList(c.sysroots), c.path("sysroot")) {
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			list = append(list, dir)
		}
	}
	return list
}
