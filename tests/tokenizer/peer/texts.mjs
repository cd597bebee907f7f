// The real text that strings.mjs mutates: a few sentences in many scripts, and other content that people paste into
// prompts. Emoji and marks that an editor would hide are written as escapes.

const kFamily = "\u{1F468}\u200D\u{1F469}\u200D\u{1F467}\u200D\u{1F466}";
const kFlags = "\u{1F1E9}\u{1F1EA}\u{1F1EB}\u{1F1F7}\u{1F1EF}";

export const kTexts = [
  // Latin
  "The committee met on Tuesday; nobody had read the 42-page report, and it showed. Don't ask who'll pay for it.",
  "\"We've seen this before,\" she said. It's (mostly) the router's fault: they'd cached a stale answer, hadn't they?",
  "PLEASE READ: McDonald's iPhone App v2.0 isn't WORKING since Feb. 3rd... why?!",
  "Größere Straßen führen über die Brücke; die Maßnahme kostet 3.400,50 € und hält fünf Jahre.",
  "L'été dernier, nous avons mangé des crêpes à l'œuf près de l'hôtel où naquit François. Qu'est-ce que c'est ?",
  "El niño pidió ¿cuánto cuesta? y la señora contestó: ¡mañana lo sabrás, corazón!",
  "Zażółć gęślą jaźń, powiedział Łukasz, a potem poszedł spać w Łodzi.",
  "Příliš žluťoučký kůň úpěl ďábelské ódy, řekl Jiří.",
  "İstanbul'da ılık bir gün; ığdır'ın çocukları şöyle dedi: güle güle!",
  "Tiếng Việt có nhiều dấu: Nguyễn Thị Hồng đã đến Huế vào mùa thu năm ngoái.",
  "Ǆ ǅ ǆ, ŉ, ẞ and ß, ſtreſs, ﬁnd the ﬀ ligatures, ½ of x² is ⅷ, Å is Å, Ω is Ω.",
  // Greek, Cyrillic, Armenian, Georgian
  "Η Ελλάδα έχει πολλά νησιά. Ο ΟΔΥΣΣΕΑΣ ταξίδεψε δέκα χρόνια· πώς γύρισε στην Ιθάκη;",
  "Съешь ещё этих мягких французских булок, да выпей же чаю. Объём продаж вырос на 15%.",
  "Їжак і ґава сиділи на дереві, а подих вітру ніс листя до Києва.",
  "Հայերենը շատ հին լեզու է։ Բարեւ, ինչպե՞ս ես։ և այլն",
  "საქართველო მდებარეობს კავკასიაში. ᲗᲑᲘᲚᲘᲡᲘ დედაქალაქია.",
  // Hebrew, Arabic, Persian, Urdu, Syriac, Thaana
  "שָׁלוֹם עוֹלָם, הַיּוֹם יוֹם רִאשׁוֹן. מה שלומך? תל־אביב נמצאת על חוף הים.",
  "السَّلامُ عَلَيْكُم، كيف حالك اليوم؟ وصل القطار في الساعة ١٢:٣٠ تقريبًا.",
  "من امروز به کتاب‌خانه می‌روم و کتاب‌های تازه می‌خوانم؛ ۱۴۰۳ سال خوبی بود.",
  "پاکستان میں بہت سی زبانیں بولی جاتی ہیں، جیسے پنجابی اور سندھی۔",
  "ܫܠܡܐ ܥܠܡܐ ܐܝܟܢܐ ܐܝܬܝܟ",
  "ދިވެހިރާއްޖެ އަކީ ރީތި ޤައުމެކެވެ",
  // Brahmic scripts
  "नमस्ते दुनिया! क्या आप हिन्दी पढ़ सकते हैं? मैंने २०२४ में क़लम ख़रीदा था।",
  "বাংলা ভাষা খুব সুন্দর। আমি ঢাকায় থাকি এবং ভাত খাই।",
  "ਪੰਜਾਬੀ ਬੋਲੀ ਬਹੁਤ ਮਿੱਠੀ ਹੈ, ਸਤਿ ਸ੍ਰੀ ਅਕਾਲ।",
  "ગુજરાતી ભાષામાં લખવું સરળ છે, કેમ છો?",
  "தமிழ் மொழி மிகவும் பழமையானது. நீங்கள் எப்படி இருக்கிறீர்கள்?",
  "తెలుగు చాలా అందమైన భాష. మీరు ఎలా ఉన్నారు?",
  "ಕನ್ನಡ ನಾಡು ಚೆಲುವಿನ ಬೀಡು, ನೀವು ಹೇಗಿದ್ದೀರಿ?",
  "മലയാളം ഒരു ദ്രാവിഡ ഭാഷയാണ്. സുഖമാണോ?",
  "සිංහල භාෂාව ශ්‍රී ලංකාවේ භාවිතා වේ.",
  "བོད་སྐད་ནི་སྐད་ཡིག་རྙིང་པ་ཞིག་ཡིན། བཀྲ་ཤིས་བདེ་ལེགས།",
  // South-East Asia
  "ภาษาไทยไม่มีการเว้นวรรคระหว่างคำ กำลังจะไปตลาดเพื่อซื้อผลไม้ ๑๒๓",
  "ພາສາລາວແມ່ນພາສາທາງການຂອງລາວ ສະບາຍດີ",
  "ភាសាខ្មែរមានអក្សរច្រើន តើអ្នកសុខសប្បាយទេ?",
  "မြန်မာဘာသာစကားသည် လှပသော ဘာသာစကားဖြစ်သည်။",
  // East Asia
  "今天天气很好,我们去公园散步吧。人工智能改变了世界!价格是¥1,234元(約)。",
  "繁體中文與簡體中文有所不同,「引號」也不一樣;𠮷野家、𡃁仔。",
  "日本語のテキストは、ひらがな・カタカナ・漢字を混ぜて書きます。ガギグゲゴとハ゜ヒ゜、㍿や㌔もある。",
  "한국어 문장은 띄어쓰기가 중요합니다. 오늘은 날씨가 참 좋네요! 각힣",
  "\u1112\u1161\u11AB\u1100\u1173\u11AF \u1100\u1161\u11A8 \u1161\u11A8 \u1100 jamo \u115F\u1160",
  "ㄅㄆㄇㄈ 注音 ㄓㄔㄕ, ꀀꀁꀂ ꆈꌠ, ｆｕｌｌｗｉｄｔｈ　ＡＢＣ１２３！",
  // Africa, America, Mongolia and others
  "ሰላም ለዓለም። አማርኛ የኢትዮጵያ ቋንቋ ነው፤ ቁጥር ፲፪።",
  "ⵜⴰⵎⴰⵣⵉⵖⵜ ⵜⵓⵜⵍⴰⵢⵜ, ߒߞߏ ߞߊ߲߫, ᏣᎳᎩ ꭰꭱꭲ, ᐃᓄᒃᑎᑐᑦ ᑎᑎᕋᐅᓯᖅ",
  "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ᠌ \u180E ᠤ, ᚠᚢᚦᚨᚱᚲ, ᚛ᚑᚌᚐᚋ᚜, 𐌰𐌱𐌲, 𐐀𐐨 𞤀𞤢",
  "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝓶𝓪𝓽𝓱 𝟙𝟚𝟛 ∑∫√≠≤∞ ①②③ Ⅳ ⁵₆ ™ ℃ № …",
  // Composed and decomposed characters, marks in an unusual order
  "Cafe\u0301 re\u0301sume\u0301 na\u0131\u0308ve A\u030Angstro\u0308m q\u0323\u0307 q\u0307\u0323 e\u0301\u0323\u0302",
  "\u0344 \u0958 \u2126 \u212B \uFB2C \u{1D15E} \u0F73\u0F71 \u0340\u0341 a\u0315\u0300\u05AE\u0300b \u1E9B\u0323",
  "Z\u0351\u036B\u0343\u036A\u0302\u036B\u033D\u034F\u0334\u0319\u0324\u031E\u0349\u035A\u032F\u031E\u0320\u034DA\u036B\u0357\u0334\u0362\u0335\u031C\u0330\u0354L",
  // Emoji: joined, with a skin tone, flags, keycaps, variation selectors
  `Great ${kFamily} job \u{1F44D}\u{1F3FD}! ${kFlags} \u2764\uFE0F\u200D\u{1F525} 1\uFE0F\u20E3 \u{1F600}\u{1F602}\u{1F923}`,
  `\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F} \u{1F469}\u{1F3FF}\u200D\u{1F680} \u263A\uFE0E \u{1F937}\u200D\u2642\uFE0F${kFlags}`,
  // Direction, joiners, invisible
  "abc \u202Eright to left\u202C \u200Fmark\u200E \u2066isolate\u2069 zero\u200Bwidth\uFEFFspace soft\u00ADhyphen \u2060word joiner",
  "no\u00A0break thin\u2009space em\u2003space ideographic\u3000space next\u0085line line\u2028separator para\u2029graph ogham\u1680",
  // Numbers, addresses, code, markup, data
  "3.14159 1,000,000 0x1F4A9 1e-9 12345678901234567890 v1.2.3-rc.4 +49 (0)30 1234-5678 2024-02-29T23:59:60Z 50% $9.99",
  "See https://www.example.com/a/b%20c?q=x&y=1#frag or mail first.last+tag@sub.example.co.uk; ftp://10.0.0.1:8080/ [::1]",
  "def fib(n: int) -> int:\n    \"\"\"Return it.\"\"\"\n    if n <= 1:\n        return n\n\treturn fib(n - 1) + fib(n-2)  # O(2**n)\n",
  "#include <vector>\r\nint main(int argc, char** argv) {\r\n  std::vector<int> v{1, 2, 3};\r\n  return v[0] != 1 && argc>>1;\r\n}\r\n",
  "{\"model\": \"auto\", \"messages\": [{\"role\": \"user\", \"content\": \"a\\\"b\\\\n\\u00e9\"}], \"n\": null, \"t\": 0.7e0}",
  "SELECT `id`, COUNT(*) FROM users u WHERE u.name LIKE '%O''Brien%' AND x<>3 GROUP BY 1; -- comment",
  "<div class=\"a-b\"><p>Text &amp; more&nbsp;&#8211; <b>bold</b></p><!-- c --></div>\n\n\n<br/>",
  "# Title\n\n* item **one**\n* item _two_ ~~x~~\n\n```js\nconst f = (x) => x ?? `t${x}`;\n```\n| a | b |\n|---|:-:|\n",
  "C:\\Users\\me\\file.txt ~/.bashrc ./run.sh && echo $HOME | grep -v '^#' > /dev/null 2>&1",
  "E = mc^2, \\frac{a}{b} \\leq \\sum_{i=0}^{n} x_i; (a+b)(a-b)=a²-b² ~~ ±5 µm",
  "he'll I'M we'Ve 'tis rock'n'roll O'Neill's ''quoted'' x'd 'S 'RE n't ’s ‘t it’s",
  "snake_case camelCase PascalCase SCREAMING_CASE kebab-case dot.case a/b a\\b a|b a@b a#b a&b a*b",
  "....!!!??? --- ___ === ~~~ ,,, ;;; ::: ((( ))) [[[ ]]] {{{ }}} <<< >>> ''' \"\"\" ``` “” ‘’ «» „“ – — … · • § ¶ ¡¿",
  "▁the▁metaspace ▁ ▁▁ Ġthe Ċ ĠĠ âĢĻ ##ing ## [[CLS]] <0x0A> <0xE9> </s> <s> <unk> <n> <pad>",
];
