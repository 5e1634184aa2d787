package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestContrib: alert rules and dashboard ask for what /metrics tells, and can be read.
func TestContrib(t *testing.T) {
	s, _ := served(t, "--workers", "0")
	s.metrics.taken.WithLabelValues("x").Inc()
	s.metrics.bytes.WithLabelValues("x").Inc()
	s.metrics.refused.WithLabelValues("x").Inc()
	s.metrics.dropped.WithLabelValues("x").Inc()
	s.metrics.backtraced(0, nil)
	if err := s.gauge(t.Context()); err != nil {
		t.Fatal(err)
	}
	families, err := s.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, f := range families {
		told[f.GetName()] = true
	}
	for name, read := range map[string]func([]byte, any) error{"alerts.yaml": func(b []byte, v any) error { return yaml.Unmarshal(b, v) }, "grafana.json": json.Unmarshal,
		"compose.yaml": func(b []byte, v any) error { return yaml.Unmarshal(b, v) }} {
		b, err := os.ReadFile("../../contrib/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := read(b, &v); err != nil || len(v) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		for _, metric := range regexp.MustCompile(`\b(backsight|process)_[a-z_]+`).FindAllString(string(b), -1) {
			if !told[strings.TrimSuffix(metric, "_bucket")] {
				t.Errorf("%s: nobody tells %s", name, metric)
			}
		}
	}
}
