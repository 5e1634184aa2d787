/* Writes the reports of a capture as JSON: example CAPTURE [SYSROOT] */
#include <stdio.h>
#include <stdlib.h>

#include "../backsight.h"

int main(int argc, char **argv)
{
	char options[4096] = "{}", *message = NULL, *json;
	backsight_session session;

	if (argc > 2)
		snprintf(options, sizeof options, "{\"sysroot\": [\"%s\"]}", argv[2]);
	session = backsight_open(options, &message);
	if (session == 0 || argc < 2) {
		fprintf(stderr, "%s\n", message ? message : "no capture named");
		return EXIT_FAILURE;
	}
	json = backsight_json(session, argv[1], &message);
	if (message != NULL)
		fprintf(stderr, "%s\n", message);
	fputs(json, stdout);
	backsight_free(json);
	backsight_close(session);
	return message != NULL;
}
