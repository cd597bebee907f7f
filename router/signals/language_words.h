#pragma once
// Data to distinguish languages: the scripts and, for languages that share one, their special
// letters. Those of the Latin alphabet have their most frequent words, too, collected by hand, in
// lower case. A word in several lists counts less for each.

#include <array>
#include <string_view>

namespace signalbox::signals {

struct LanguageWords {
  std::string_view language;      // ISO 639-1
  std::string_view words;         // separated by single spaces
  std::string_view letters = "";  // in lower case, beyond a to z
};

inline constexpr auto kLatinLanguages = std::to_array<LanguageWords>({
    {"en",
     "the be of and a to in is are was were that it for on with as you this have has not at but "
     "they "
     "from or by an will would there their what which who how why when where can could should do "
     "does did my your his her its our we he she them me if about into than then please explain "
     "write give make tell between some any all no yes these those been being i am us"},
    {"es",
     "el la los las de que y en un una unos unas por con para es son está están del al se lo como "
     "más pero sus le ya o este esta estos estas sí porque muy sin sobre también me hasta hay "
     "donde "
     "quien desde todo nos cuando qué cómo cuál quién dónde puede puedo tiene tengo ser fue era mi "
     "tu "
     "yo él ella usted tres dos entre hacer por favor explica",
     "áéíóúñü¿¡"},
    {"fr",
     "le la les de des du un une et est en que qui dans pour pas sur ce cette ces il elle on nous "
     "vous ils elles au aux avec son sa ses se plus par mais ou où je tu mon ma mes ne sont être "
     "avoir a ont été fait comme tout bien peut quel quelle comment pourquoi quand c'est s'il moi "
     "leur leurs deux trois sans sous entre très d'un d'une l'on n'est qu'est",
     "éèêëàâçùûîïôœ"},
    {"de",
     "der die das und ist in den von zu mit sich des auf für nicht ein eine einen einem einer als "
     "auch es an werden aus er hat dass sie nach wird bei am um noch wie über so zum zur war haben "
     "nur oder aber vor bis mehr durch man sein wurde sei ich du wir ihr mir mich was wer wo warum "
     "wann kann können muss bitte diese dieser dieses zwischen ohne sind kein keine",
     "äöüß"},
    {"it",
     "il lo la i gli le di che e è un una uno in per con non del della dei delle da al alla si "
     "sono "
     "come più ma anche questo questa questi queste nel nella o se ci su tra fra perché quando "
     "dove "
     "chi cosa quale quali mi ti suo sua mio tuo ha hanno essere stato può puoi molto tutti tre "
     "due "
     "dopo prima senza ogni ho sei siamo dell'",
     "àèéìòù"},
    {"pt",
     "o a os as de que e do da dos das em um uma para com não por mais se na no nas nos como mas "
     "ao "
     "ele ela eles elas foi ser são é está tem seu sua ou quando muito já eu também só pelo pela "
     "até "
     "isso isto este esta entre depois sem mesmo aos meu minha você qual quem onde porque por que "
     "pode posso três dois fazer",
     "ãõáéíóúâêôç"},
    {"nl",
     "de het een en van in is dat op te zijn voor met niet aan er om ook als dan maar bij nog uit "
     "door over ze zich hij zij wij jij je u mijn zijn haar hun wat wie waar wanneer waarom hoe "
     "kan "
     "kunnen moet deze dit die naar wordt worden was waren heeft hebben geen meer tot al ik onze",
     "ëï"},
    {"sv",
     "och i att det som en på är av för med den till inte om har de ett han men var jag sig från "
     "vi "
     "så kan hur vad när där eller ska skulle över efter också denna detta dessa hon dem oss min "
     "din "
     "sin mycket alla bara mellan vara blir blev kommer utan varför vilken",
     "åäö"},
    {"da",
     "og i at det er en til på som for med de af den ikke der et har jeg han var sig men vi om fra "
     "så kan hvad hvor hvordan hvorfor når eller skal ville efter også denne dette disse hun dem "
     "os "
     "min din sin meget alle kun mellem være bliver blev kommer uden hvilken du mig",
     "æøå"},
    {"nb",
     "og i at det er en til på som for med de av den ikke der et har jeg han var seg men vi om fra "
     "så kan hva hvor hvordan hvorfor når eller skal ville etter også denne dette disse hun dem "
     "oss "
     "min din sin mye alle bare mellom være blir ble kommer uten hvilken du meg",
     "æøå"},
    {"fi",
     "ja on ei että se hän oli mutta ovat kun niin myös sen tai kuin mitä miten miksi missä "
     "milloin "
     "kuka joka jotka ole olen olet oli olla voi voin tämä nämä ne he minä sinä me te mukaan jos "
     "sitten vain nyt vielä kaikki koska siitä hyvin",
     "äö"},
    {"pl",
     "i w na z do nie się jest to że co jak o ale po za od czy tak przez przy dla są był była było "
     "jego jej ich ten ta te tym tego które który która gdy gdzie kiedy dlaczego kto może można "
     "tylko już jeszcze bardzo mnie mi ja ty my oraz lub między bez pod jako proszę",
     "ąćęłńóśźż"},
    {"cs",
     "a se v na je to že s z do o k i jako ale po za od není jsou byl byla bylo jeho její jejich "
     "ten ta to tento tato které který která když kde kdy proč kdo co jak může lze jen už ještě "
     "velmi mě mi já ty my nebo mezi bez pod pro při také být prosím",
     "áčďéěíňóřšťúůýž"},
    {"tr",
     "ve bir bu için ile de da ne o çok daha gibi olarak olan ama en kadar sonra ben sen biz siz "
     "onlar mi mı mu mü var yok değil nasıl neden nerede kim hangi şey her ki ya veya ise göre "
     "olduğu oldu olur bunu şu lütfen arasında",
     "çğıöşü"},
    {"ro",
     "și de la în a o cu pe că nu un este din pentru să care mai sunt se al ale ai ca sau dar după "
     "fără între dacă cum ce când unde cine cât foarte aceasta acest această acestea lui ei ele "
     "noi "
     "voi eu tu am are au fost fi poate prin",
     "ăâîșțşţ"},
    {"hu",
     "a az és hogy nem is egy ez azt van volt meg de csak már mint vagy ha el ki mi mit hol mikor "
     "miért hogyan én te ő mi ti ők nagyon lehet kell minden még után között nélkül ezt ezek",
     "áéíóöőúüű"},
    {"id",
     "yang dan di ini itu dengan untuk tidak dari dalam akan pada juga saya ke karena ada mereka "
     "kami kita bisa dapat oleh atau seperti sudah lebih apa siapa bagaimana mengapa kapan mana "
     "adalah anda dia bahwa sebagai tolong antara"},
    {"vi",
     "và là của có không một được cho trong với các những này đó người để khi đã từ như tôi bạn nó "
     "chúng ta họ gì sao thế nào đâu ai bao nhiêu hay hoặc nhưng vì nên cũng rất tại về theo",
     "ăâđêôơưạảấầẩậắằếềểệọộớờợụủứừựý"},
    {"ca",
     "el la els les de que i en un una per amb no és són del al se com més però aquest aquesta "
     "aquests o perquè quan on qui què quin em et seu seva meu ha han ser estat pot molt també "
     "sense entre fins dos tres hi ho",
     "àçèéíïòóúü"},
});

// Weight of one character of these scripts, relative to a letter of an alphabet.
inline constexpr double kIdeographWeight = 3;

struct Script {
  char32_t first, last;
  std::string_view name;  // the language, if only one language uses the script
  double weight = 1;
};

// Sorted by code point.
inline constexpr auto kScripts = std::to_array<Script>({
    {0x0041, 0x005A, "latin"},
    {0x0061, 0x007A, "latin"},
    {0x00AA, 0x00AA, "latin"},
    {0x00BA, 0x00BA, "latin"},
    {0x00C0, 0x02FF, "latin"},
    {0x0370, 0x03FF, "el"},
    {0x0400, 0x052F, "cyrillic"},
    {0x0531, 0x058F, "hy"},
    {0x0590, 0x05FF, "he"},
    {0x0600, 0x06FF, "arabic"},
    {0x0780, 0x07BF, "dv"},
    {0x0900, 0x097F, "hi"},
    {0x0980, 0x09FF, "bn"},
    {0x0A00, 0x0A7F, "pa"},
    {0x0A80, 0x0AFF, "gu"},
    {0x0B00, 0x0B7F, "or"},
    {0x0B80, 0x0BFF, "ta"},
    {0x0C00, 0x0C7F, "te"},
    {0x0C80, 0x0CFF, "kn"},
    {0x0D00, 0x0D7F, "ml"},
    {0x0D80, 0x0DFF, "si"},
    {0x0E00, 0x0E7F, "th"},
    {0x0E80, 0x0EFF, "lo"},
    {0x0F00, 0x0FFF, "bo"},
    {0x1000, 0x109F, "my"},
    {0x10A0, 0x10FF, "ka"},
    {0x1100, 0x11FF, "ko", kIdeographWeight},
    {0x1200, 0x137F, "am"},
    {0x1780, 0x17FF, "km"},
    {0x1D00, 0x1DBF, "latin"},
    {0x1E00, 0x1EFF, "latin"},
    {0x1F00, 0x1FFF, "el"},
    {0x2071, 0x2188, "latin"},  // raised, ringed and the like
    {0x2C60, 0x2C7F, "latin"},
    {0x3040, 0x30FF, "kana", kIdeographWeight},
    {0x3100, 0x312F, "zh", kIdeographWeight},
    {0x31A0, 0x31BF, "zh", kIdeographWeight},
    {0x3400, 0x4DBF, "han", kIdeographWeight},
    {0x4E00, 0x9FFF, "han", kIdeographWeight},
    {0xA720, 0xA7FF, "latin"},
    {0xAB30, 0xAB6F, "latin"},
    {0xAC00, 0xD7AF, "ko", kIdeographWeight},
    {0xF900, 0xFAFF, "han", kIdeographWeight},
    {0xFB00, 0xFB06, "latin"},
    {0xFB1D, 0xFB4F, "he"},
    {0xFB50, 0xFDFF, "arabic"},
    {0xFE70, 0xFEFC, "arabic"},
    {0xFF21, 0xFF5A, "latin"},
    {0xFF66, 0xFF9F, "kana", kIdeographWeight},
    {0x1D400, 0x1D7FF, "latin"},  // letters of formulas
    {0x20000, 0x3FFFF, "han", kIdeographWeight},
});

struct Letters {
  std::string_view language;
  std::u32string_view letters;  // letters that the other languages of the script lack
};

// The first language is the default if no distinctive letter occurs.
inline constexpr auto kCyrillic = std::to_array<Letters>({
    {"ru", U"\u044B\u044D\u0451"},              // ы э ё
    {"uk", U"\u0456\u0457\u0454\u0491"},        // і ї є ґ
    {"be", U"\u045E"},                          // ў
    {"sr", U"\u0452\u045B\u0459\u045A\u045F"},  // ђ ћ љ њ џ
    {"mk", U"\u0453\u045C\u0455"},              // ѓ ќ ѕ
    {"bg", U"\u044A"},                          // ъ, rare elsewhere
});
inline constexpr auto kArabic = std::to_array<Letters>({
    {"ar", U"\u0629\u0649\u0643\u064A"},              // ة ى ك ي
    {"fa", U"\u067E\u0686\u0698\u06AF\u06CC\u06A9"},  // پ چ ژ گ ی ک
    {"ur", U"\u0679\u0688\u0691\u06D2\u06BA\u06C1"},  // ٹ ڈ ڑ ے ں ہ
});

}  // namespace signalbox::signals
