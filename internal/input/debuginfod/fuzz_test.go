package debuginfod

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

// FuzzSettings reads any environment: addresses that are kept are those of servers, bounds are above 0, and can be passed.
func FuzzSettings(f *testing.F) {
	f.Add("", "http://a https://b/", "/cache", "1000", "1")
	f.Add("http://[::1]:8002//", "", "", "-1", "99999999999999999999")
	f.Add("http://a", "", "/cache", "9223372036854775807", "2147483647")
	f.Add("http://a?x=/..#", "", "~", "0", "0x10")
	f.Fuzz(func(t *testing.T, urls, fromEnv, cache, size, timeout string) {
		env := map[string]string{"DEBUGINFOD_URLS": fromEnv, "DEBUGINFOD_CACHE_PATH": cache, "HOME": cache,
			"DEBUGINFOD_MAXSIZE": size, "DEBUGINFOD_MAXTIME": size, "DEBUGINFOD_TIMEOUT": timeout}
		s, err := readSettings(urls, func(k string) string { return env[k] })
		if err != nil {
			return
		}
		if s.maxSize+1 <= 1 || s.stalled <= 0 || s.longest <= 0 || s.cache == "" || len(s.urls) == 0 {
			t.Errorf("%+v", s)
		}
		for _, server := range s.urls {
			if u, err := url.Parse(server + "/buildid/00/debuginfo"); err != nil || u.Host == "" || strings.HasPrefix(server, "-") {
				t.Errorf("%q is no server: %v", server, err)
			}
		}
	})
}

// FuzzReason reads whatever curl says, which has words of the server: it becomes one line.
func FuzzReason(f *testing.F) {
	f.Add("curl: (22) The requested URL returned error: 500\n500")
	f.Add("404")
	f.Add("curl: (6) Could not resolve host: a\r\n000")
	f.Add("curl: (22) \n000")
	f.Fuzz(func(t *testing.T, said string) {
		err := reason(said, errors.New("exit status 22"))
		if err == nil || err.Error() == "" || strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("%q: %v", said, err)
		}
	})
}
