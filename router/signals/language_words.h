#pragma once
// Data to distinguish languages that share the Latin alphabet: their most frequent words and their
// special letters, collected by hand, in lower case. A word in several lists counts less for each.

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

}  // namespace signalbox::signals
