#pragma once
// The texts that algorithms send to models: templates with names in double braces, and the request
// as they quote it.

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace signalbox::looper {

/// Replaces each "{{name}}" of the template that has a value. A value is not searched again, so a
/// reply that contains such a name is not expanded.
std::string render(std::string_view text,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> values);

/// Asks for a grade of a reply as {"confidence": 0 to 1}; values: question, answer.
extern const std::string_view kGradePrompt;

/// Reads the confidence from the grade that a model wrote: the member of the first JSON object, or
/// the first number. Returns -1 if there is none between 0 and 1.
double read_grade(std::string_view text);

}  // namespace signalbox::looper
