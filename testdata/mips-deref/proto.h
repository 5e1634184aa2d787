struct proto {
	const char *at;
	int (*on_word)(void *ctx, const char *word);
	void *ctx;
};

int proto_parse(struct proto *p, int depth);
