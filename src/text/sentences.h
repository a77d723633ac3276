// Text cut into sentences, as a translator that learned from single sentences wants them.
//
// A sentence ends with . ! ? … or another script's mark, with the quotes and brackets that close
// behind it, if white space follows and then an upper-case letter, a digit, or a letter of a script
// without cases; Chinese and Japanese marks need no space. A text without any upper-case letter
// may go on in lower case. Not ends are abbreviations of the language, initials ("J. S. Bach"),
// numbers of lists and, in languages that write them with a full stop, ordinals ("am 3. Mai"). A
// line break always ends a sentence.
//
// Where it is doubtful, sentences stay together. Any bytes may come in; the time is linear in
// their number. Pure functions; safe to call from any thread.
#pragma once

#include <string_view>
#include <vector>

namespace heed {

// Joined, texts and spaces are the text that came in. Only white space at the beginning makes a
// sentence whose text is empty.
struct Sentence {
  std::string_view text;
  std::string_view space;  // behind it, up to the next sentence
};

// `language` is a code such as en, en-GB or eng; of others the abbreviations are not known.
std::vector<Sentence> split_sentences(std::string_view text, std::string_view language);

// A sentence cut where another one seems to begin without an end mark before it, as in "A child is
// playing Two men watch.": before a determiner, pronoun or numeral in upper case, behind a word
// that no name follows. This is a guess, for texts that are too long as they are. Of English and
// German; sentences of other languages stay whole.
std::vector<Sentence> split_unmarked(const Sentence& sentence, std::string_view language);

}  // namespace heed
