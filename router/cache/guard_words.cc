// The tables are small on purpose: a word may be listed only if no answer depends on it.

#include "router/cache/guard_words.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace signalbox::cache {
namespace {

using namespace std::string_view_literals;

constexpr auto kOpenings = std::to_array<Opening>({
    {"hi|hello|hey|ok|okay|well|so|please there?", ""},
    {"good morning|afternoon|evening|day", ""},
    {"quick|simple|one question", ""},
    {"i have a question", ""},
    {"i am|was just? wondering|curious if|about?", ""},
    {"i'm just? wondering|curious if|about?", ""},
    {"i|we would like|love to know|learn|understand about?", ""},
    {"i'd like|love to know|learn|understand about?", ""},
    {"i|we want|need|wish|have to know|learn|understand about?", ""},
    {"i am|i'm trying to|want to? find? out?", "how"},
    {"i|we am|are|'m trying to", "how"},
    {"i'm|we're trying to", "how"},
    {"can|could|would|will you please? tell|teach me|us about?", ""},
    {"can|could|would|will you please? explain|clarify to? me|us?", ""},
    {"can|could|would|will you please? explain", ""},
    {"can|could|would|will you please? help me|us to? understand|find|with?", ""},
    {"can|could|would|will you please? help me|us", ""},
    {"can|could|would|will you please? give me|us", ""},
    {"can|could|would|will you please? show|remind me|us", ""},
    {"can|could|would|will you please? let me|us know", ""},
    {"can|could|would|will you please? describe", ""},
    {"can|could|would|will someone|somebody|anyone|anybody please? explain|tell me|us?", ""},
    {"can|could|would|will someone|somebody|anyone|anybody please? explain|tell", ""},
    {"does someone|somebody|anyone|anybody know", ""},
    {"do|would you happen? to? know", ""},
    {"any idea|ideas", ""},
    {"any|some tips|advice|hints on|for", ""},
    {"list|name|enumerate the|all", ""},
    {"you please? tell me|us", ""},
    {"tell|teach me|us about?", ""},
    {"let me|us know about?", ""},
    {"explain to? me|us about?", ""},
    {"explain", ""},
    {"help me|us to? understand|with?", ""},
    {"help me|us", ""},
    {"give|show me|us", ""},
    {"remind me|us", ""},
    {"describe", ""},
    {"please", ""},
    {"what is|are|would? be? the best|right|correct|proper|usual|recommended? way|method|approach "
     "to|of|for",
     "how"},
    {"the? best|right|correct|proper|usual|recommended way|method|approach to|of|for", "how"},
    {"what is|are the way|method|approach|procedure|steps to|of|for", "how"},
    {"what way|method|approach|procedure to|of|for", "how"},
    {"what steps do|should|must|can i|you|we take to|for", "how"},
    {"what steps to|for", "how"},
    {"what do|should|can|must i|you|we do to", "how"},
    {"what do|should|can|must i|you|we need|have to do to", "how"},
    {"the? steps|procedure|instructions to|for", "how"},
    {"is there a|any way|method to|of|for", "how"},
    {"how would|should|might|could|can|do|does|did i|you|we|one|someone|people go about", "how"},
    {"i want|need|have|like to", "how"},
    {"i would|'d like to", "how"},
    {"i'd like to", "how"},
    {"what is|was|are|were the reason|reasons for|of|that|why|behind?", "why"},
    {"what reason|cause for|of|that|why|behind", "why"},
    {"the? reason|reasons why|that|for|behind", "why"},
    {"how come", "why"},
    {"for? what reason", "why"},
    {"on|at what|which date", "when"},
    {"what|which is|was the date of|when|that", "when"},
    {"in|at what|which place|location", "where"},
    {"what is|are the place|location of|where", "where"},
    {"who|which person|man|woman", "who"},
    {"how tall|high is|are|was|were", "what height"},
    {"how heavy is|are|was|were", "what weight"},
    {"how deep is|are|was|were", "what depth"},
    {"how wide is|are|was|were", "what width"},
    {"how old is|are|was|were", "what age"},
    {"how hot is|are|was|were", "what temperature"},
    {"how fast is|are|was|were", "what speed"},
    {"how far is|are|was|were it?", "what distance"},
    {"what|which number|amount|quantity of", "how many"},
    {"what is|was|are|were the meaning|definition|sense of", "what mean"},
    {"the? meaning|definition of", "what mean"},
    {"define", "what mean"},
    {"what meaning|definition of", "what mean"},
});

constexpr auto kFillers = std::to_array<std::string_view>(
    {"a",      "an",   "the",    "is",       "are",     "am",     "be",        "been",
     "being",  "do",   "does",   "done",     "can",     "could",  "would",     "should",
     "of",     "to",   "in",     "on",       "at",      "for",    "and",       "it",
     "its",    "this", "that",   "these",    "those",   "there",  "here",      "please",
     "kindly", "just", "really", "actually", "exactly", "simply", "basically", "also",
     "some",   "any",  "one",    "thanks",   "thank",   "hi",     "hello",     "hey",
     "i'm",    "have", "has",    "which",    "what",    "ok",     "okay",      "so"});

// These stay content words.
constexpr auto kNegations = std::to_array<std::string_view>(
    {"not",    "no",      "never", "without", "none",   "nobody", "nothing", "neither",
     "nor",    "nowhere", "non",   "hardly",  "barely", "rarely", "except",  "excluding",
     "unless", "avoid",   "stop",  "fail",    "lack",   "unable", "refuse"});

// Each line lists words that mean the same in any context.
constexpr auto kSynonyms = std::to_array<std::string_view>({
    "buy purchase",
    "begin start commence",
    "repair fix",
    "car automobile",
    "phone telephone",
    "movie film",
    "doctor physician",
    "child kid",
    "tv television",
    "photo photograph",
    "price cost",
    "big large",
    "quick rapid",
    "obtain get acquire",
    "create make",
    "mean signify",
    "assist help",
    "require need",
    "happen occur",
    "difference differ distinction",
    "benefit advantage",
    "drawback disadvantage downside",
    "invent inventor",
    "discover discoverer",
    "population inhabitant",
    "lawyer attorney",
    "job occupation",
    "bike bicycle",
    "refrigerator fridge",
    "airplane plane aeroplane",
    "colour color",
    "favourite favorite",
    "centre center",
    "theatre theater",
    "litre liter",
    "metre meter",
    "organise organize",
    "analyse analyze",
    "program programme",
    "ill sick",
    "holiday vacation",
    "height tall high",
    "weight weigh heavy",
    "select choose pick",
    "build construct",
    "attempt try",
    "finish complete",
    "reply respond",
    "error mistake",
    "illness disease",
    "infant baby",
    "garbage trash rubbish",
    "wifi wi-fi",
    "email e-mail",
    "app application",
    "info information",
    "ad advertisement",
    "exam examination",
    "maths math mathematics",
    "vs versus",
});

// Irregular forms, which no rule of endings produces.
constexpr auto kForms = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"children", "child"},  {"people", "person"},   {"men", "man"},
     {"women", "woman"},     {"mice", "mouse"},      {"feet", "foot"},
     {"teeth", "tooth"},     {"geese", "goose"},     {"made", "make"},
     {"making", "make"},     {"wrote", "write"},     {"written", "write"},
     {"built", "build"},     {"bought", "buy"},      {"meant", "mean"},
     {"got", "get"},         {"gotten", "get"},      {"getting", "get"},
     {"began", "begin"},     {"begun", "begin"},     {"used", "use"},
     {"using", "use"},       {"dying", "die"},       {"lying", "lie"},
     {"won", "win"},         {"gave", "give"},       {"given", "give"},
     {"took", "take"},       {"taken", "take"},      {"came", "come"},
     {"knew", "know"},       {"known", "know"},      {"found", "find"},
     {"went", "go"},         {"gone", "go"},         {"ran", "run"},
     {"sang", "sing"},       {"sung", "sing"},       {"paid", "pay"},
     {"held", "hold"},       {"led", "lead"},        {"left", "left"},
     {"news", "news"},       {"series", "series"},   {"species", "species"},
     {"gas", "gas"},         {"bus", "bus"},         {"buses", "bus"},
     {"lens", "lens"},       {"thing", "thing"},     {"king", "king"},
     {"ring", "ring"},       {"spring", "spring"},   {"string", "string"},
     {"bring", "bring"},     {"sting", "sting"},     {"wing", "wing"},
     {"red", "red"},         {"bed", "bed"},         {"seed", "seed"},
     {"need", "need"},       {"feed", "feed"},       {"speed", "speed"},
     {"weed", "weed"},       {"hundred", "hundred"}, {"during", "during"},
     {"nothing", "nothing"}, {"morning", "morning"}, {"evening", "evening"},
     {"ceiling", "ceiling"}, {"wedding", "wedding"}, {"sibling", "sibling"}});

bool is_vowel(char c) {
  return "aeiouy"sv.find(c) != std::string_view::npos;
}

bool has_vowel(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_vowel);
}

// Reduces the rest of a verb form: "runn" to "run".
std::string undouble(std::string_view stem) {
  const size_t n = stem.size();
  if (n >= 4 && stem[n - 1] == stem[n - 2] && !is_vowel(stem[n - 1]) &&
      "lsz"sv.find(stem[n - 1]) == std::string_view::npos)
    stem.remove_suffix(1);
  return std::string(stem);
}

std::string without_ending(std::string_view word) {
  const size_t n = word.size();
  const auto ends = [&](std::string_view ending) { return word.ends_with(ending); };
  if (n >= 5 && ends("ies")) return std::string(word.substr(0, n - 3)) + 'y';
  if (n >= 5 && (ends("ches") || ends("shes") || ends("sses") || ends("xes")))
    return without_ending(word.substr(0, n - 2));
  if (n >= 4 && ends("s") && !ends("ss") && !ends("us") && !ends("is"))
    return without_ending(word.substr(0, n - 1));
  if (n >= 6 && ends("ing") && has_vowel(word.substr(0, n - 3)))
    return undouble(word.substr(0, n - 3));
  if (n >= 5 && ends("ied")) return std::string(word.substr(0, n - 3)) + 'y';
  if (n >= 5 && ends("ed") && has_vowel(word.substr(0, n - 2)))
    return undouble(word.substr(0, n - 2));
  if (n >= 6 && ends("ise")) return std::string(word.substr(0, n - 3)) + "iz";
  if (n >= 4 && ends("e")) return std::string(word.substr(0, n - 1));
  return std::string(word);
}

}  // namespace

std::span<const Opening> openings() {
  return kOpenings;
}

bool is_filler(std::string_view lower) {
  static const std::unordered_set<std::string_view> words(kFillers.begin(), kFillers.end());
  return words.contains(lower);
}

bool is_negation(std::string_view lower) {
  static const std::unordered_set<std::string_view> words(kNegations.begin(), kNegations.end());
  return words.contains(lower);
}

std::string basic_form(std::string_view lower) {
  static const std::unordered_map<std::string_view, std::string_view> forms(kForms.begin(),
                                                                            kForms.end());
  // Maps each word of a line to the first one; both without their endings.
  static const auto same = [] {
    std::unordered_map<std::string, std::string> out;
    for (const std::string_view line : kSynonyms) {
      const std::string first = without_ending(line.substr(0, line.find(' ')));
      for (std::string_view rest = line; !rest.empty();) {
        const size_t end = std::min(rest.find(' '), rest.size());
        out.emplace(without_ending(rest.substr(0, end)), first);
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    return out;
  }();
  const auto form = forms.find(lower);
  std::string out = without_ending(form == forms.end() ? lower : form->second);
  const auto found = same.find(out);
  return found == same.end() ? out : found->second;
}

}  // namespace signalbox::cache
