/* complete.h: what a shell may offer where the cursor stands.
 *
 * The completion scripts in src/cli/completion ask `gpumemsnap --complete WORD...`, where the words are
 * those behind the program's name and the last is the one that is being typed. The answer is one line
 * per candidate, "CANDIDATE TAB WHAT IT IS", or "@files" (any file), or "@program N" (what would complete
 * a command line without its first N words). Everything comes from the option tables.
 */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

void complete(int n, char **words);

#endif
