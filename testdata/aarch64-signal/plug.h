struct plug {
	const char *name;
	int (*report)(const struct plug *p, int what);
};

extern const struct plug plug_none;

int plug_report(const struct plug *p, int what);
