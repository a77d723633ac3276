#include "data/demo/demo_lexicon.h"

#include <algorithm>

#include "base/error.h"

namespace heed::demo {
namespace {

constexpr Gender m = Gender::masculine;
constexpr Gender f = Gender::feminine;

constexpr Noun kNouns[] = {
    {"boy", "boys", "ragazzo", "ragazzi", m, kPerson},
    {"girl", "girls", "ragazza", "ragazze", f, kPerson},
    {"man", "men", "uomo", "uomini", m, kPerson},
    {"woman", "women", "donna", "donne", f, kPerson},
    {"writer", "writers", "scrittore", "scrittori", m, kPerson},
    {"dancer", "dancers", "ballerina", "ballerine", f, kPerson},
    {"queen", "queens", "regina", "regine", f, kPerson},
    {"student", "students", "studente", "studenti", m, kPerson},
    {"farmer", "farmers", "contadino", "contadini", m, kPerson},
    {"nurse", "nurses", "infermiera", "infermiere", f, kPerson},
    {"doctor", "doctors", "medico", "medici", m, kPerson},
    {"teacher", "teachers", "maestra", "maestre", f, kPerson},

    {"dog", "dogs", "cane", "cani", m, kAnimal},
    {"cat", "cats", "gatto", "gatti", m, kAnimal},
    {"lion", "lions", "leone", "leoni", m, kAnimal},
    {"zebra", "zebras", "zebra", "zebre", f, kAnimal},
    {"horse", "horses", "cavallo", "cavalli", m, kAnimal},
    {"bear", "bears", "orso", "orsi", m, kAnimal},
    {"squirrel", "squirrels", "scoiattolo", "scoiattoli", m, kAnimal},
    {"monkey", "monkeys", "scimmia", "scimmie", f, kAnimal},
    {"fox", "foxes", "volpe", "volpi", f, kAnimal},
    {"goose", "geese", "oca", "oche", f, kAnimal},
    {"tiger", "tigers", "tigre", "tigri", f, kAnimal},
    {"cow", "cows", "mucca", "mucche", f, kAnimal},
    {"animal", "animals", "animale", "animali", m, kAnimal},

    {"apple", "apples", "mela", "mele", f, kFood},
    {"cake", "cakes", "torta", "torte", f, kFood},
    {"fish", "", "pesce", "", m, kFood},
    {"bread", "", "pane", "", m, kFood},
    {"biscuit", "biscuits", "biscotto", "biscotti", m, kFood},
    {"soup", "soups", "zuppa", "zuppe", f, kFood},
    {"cheese", "cheeses", "formaggio", "formaggi", m, kFood},
    {"water", "", "acqua", "", f, kDrink},
    {"milk", "", "latte", "", m, kDrink},
    {"wine", "", "vino", "", m, kDrink},

    {"book", "books", "libro", "libri", m, kText},
    {"letter", "letters", "lettera", "lettere", f, kText},
    {"poem", "poems", "poesia", "poesie", f, kText},

    {"door", "doors", "porta", "porte", f, kOpening},
    {"window", "windows", "finestra", "finestre", f, kOpening},
    {"gate", "gates", "cancello", "cancelli", m, kOpening},

    {"umbrella", "umbrellas", "ombrello", "ombrelli", m, kObject},
    {"backpack", "backpacks", "zaino", "zaini", m, kObject},
    {"mirror", "mirrors", "specchio", "specchi", m, kObject | kFurniture},
    {"bag", "bags", "borsa", "borse", f, kObject},
    {"bicycle", "bicycles", "bicicletta", "biciclette", f, kObject},
    {"car", "cars", "macchina", "macchine", f, kObject},
    {"candle", "candles", "candela", "candele", f, kObject | kLamp},
    {"lamp", "lamps", "lampada", "lampade", f, kObject | kLamp},

    {"table", "tables", "tavolo", "tavoli", m, kFurniture},
    {"chair", "chairs", "sedia", "sedie", f, kFurniture},
    {"bed", "beds", "letto", "letti", m, kFurniture},
    {"box", "boxes", "scatola", "scatole", f, kObject | kFurniture},

    {"street", "streets", "strada", "strade", f, kCrossable},
    {"river", "rivers", "fiume", "fiumi", m, kCrossable | kPlace},
    {"bridge", "bridges", "ponte", "ponti", m, kCrossable | kBuilding},
    {"square", "squares", "piazza", "piazze", f, kCrossable | kPlace},
    {"forest", "forests", "bosco", "boschi", m, kCrossable | kPlace},
    {"valley", "valleys", "valle", "valli", f, kCrossable | kPlace},

    {"garden", "gardens", "giardino", "giardini", m, kPlace},
    {"school", "schools", "scuola", "scuole", f, kPlace | kBuilding},
    {"house", "houses", "casa", "case", f, kPlace | kBuilding},
    {"hotel", "hotels", "albergo", "alberghi", m, kPlace | kBuilding},
    {"stadium", "stadiums", "stadio", "stadi", m, kPlace | kBuilding},
    {"wall", "walls", "muro", "muri", m, kBuilding},

    {"noise", "noises", "rumore", "rumori", m, kHardship},
    {"smell", "smells", "odore", "odori", m, kHardship},
    {"pain", "", "dolore", "", m, kHardship},
    {"smoke", "", "fumo", "", m, kHardship},
    {"heat", "", "caldo", "", m, kHardship},
    {"rain", "", "pioggia", "", f, kHardship},
    {"music", "", "musica", "", f, kHardship},

    {"fisherman", "fishermen", "pescatore", "pescatori", m, kCue},
    {"duck", "ducks", "anatra", "anatre", f, kCue},
    {"thief", "thieves", "ladro", "ladri", m, kCue},
    {"cashier", "cashiers", "cassiere", "cassieri", m, kCue},
    {"owl", "owls", "gufo", "gufi", m, kCue},
    {"snake", "snakes", "serpente", "serpenti", m, kCue},
    {"player", "players", "giocatore", "giocatori", m, kCue},
    {"champion", "champions", "campione", "campioni", m, kCue},
    {"team", "teams", "squadra", "squadre", f, kCue},
    {"mechanic", "mechanics", "meccanico", "meccanici", m, kCue},
    {"engineer", "engineers", "ingegnere", "ingegneri", m, kCue},
    {"deer", "", "cervo", "", m, kCue},
    {"goat", "goats", "capra", "capre", f, kCue},
    {"smoker", "smokers", "fumatore", "fumatori", m, kCue},
    {"fireman", "firemen", "pompiere", "pompieri", m, kCue},
    {"guard", "guards", "guardia", "guardie", f, kCue},
    {"prisoner", "prisoners", "prigioniero", "prigionieri", m, kCue},
    {"pianist", "pianists", "pianista", "pianisti", m, kCue},
    {"composer", "composers", "compositore", "compositori", m, kCue},
    {"lake", "lakes", "lago", "laghi", m, kCue},
    {"city", "cities", "città", "città", f, kCue},
    {"village", "villages", "villaggio", "villaggi", m, kCue},
    {"cave", "caves", "grotta", "grotte", f, kCue},
    {"clock", "clocks", "orologio", "orologi", m, kCue},
    {"mattress", "mattresses", "materasso", "materassi", m, kCue},
    {"mountain", "mountains", "montagna", "montagne", f, kCue},
    {"piano", "pianos", "pianoforte", "pianoforti", m, kCue},
    {"computer", "computers", "computer", "computer", m, kCue},
    {"account", "accounts", "conto", "conti", m, kCue},
    {"money", "", "denaro", "", m, kCue},
    {"ball", "balls", "palla", "palle", f, kCue},
    {"fire", "fires", "fuoco", "fuochi", m, kCue},
    {"song", "songs", "canzone", "canzoni", f, kCue},
    {"cup", "cups", "coppa", "coppe", f, kCue},
    {"moon", "", "luna", "", f, kLamp},
    {"sun", "", "sole", "", m, kLamp},
};

constexpr Kinds kBuyable = kThing | kFood;

constexpr auto kPlain = Verb::Participle::plain;
constexpr auto kAgrees = Verb::Participle::agrees;
constexpr auto kEssere = Verb::Participle::with_essere;

constexpr Verb kVerbs[] = {
    {"chase", "chased", "chased", "chasing", "inseguire", "insegue", "inseguono", "inseguendo",
     "inseguito", kAnimal, kAnimal, kAgrees},
    {"follow", "followed", "followed", "following", "seguire", "segue", "seguono", "seguendo",
     "seguito", kLiving, kLiving, kAgrees},
    {"attack", "attacked", "attacked", "attacking", "attaccare", "attacca", "attaccano",
     "attaccando", "attaccato", kAnimal, kLiving, kAgrees},
    {"watch", "watched", "watched", "watching", "guardare", "guarda", "guardano", "guardando",
     "guardato", kLiving, kLiving},
    {"save", "saved", "saved", "saving", "salvare", "salva", "salvano", "salvando", "salvato",
     kPerson, kLiving, kAgrees},
    {"see", "saw", "seen", "seeing", "vedere", "vede", "vedono", "vedendo", "visto", kLiving,
     kLiving | kThing | kBuilding},
    {"find", "found", "found", "finding", "trovare", "trova", "trovano", "trovando", "trovato",
     kLiving, kThing | kFood | kAnimal, kPlain, "trover"},
    {"buy", "bought", "bought", "buying", "comprare", "compra", "comprano", "comprando", "comprato",
     kPerson, kBuyable, kAgrees, "comprer", "compra"},
    {"sell", "sold", "sold", "selling", "vendere", "vende", "vendono", "vendendo", "venduto",
     kPerson, kBuyable, kAgrees, "vender"},
    {"break", "broke", "broken", "breaking", "rompere", "rompe", "rompono", "rompendo", "rotto",
     kLiving, kObject | kFurniture},
    {"lose", "lost", "lost", "losing", "perdere", "perde", "perdono", "perdendo", "perso", kPerson,
     kObject | kText},
    {"wash", "washed", "washed", "washing", "lavare", "lava", "lavano", "lavando", "lavato",
     kPerson, kObject | kFurniture | kAnimal, kAgrees, "", "lava"},
    {"paint", "painted", "painted", "painting", "dipingere", "dipinge", "dipingono", "dipingendo",
     "dipinto", kPerson, kFurniture | kOpening | kBuilding | kAnimal, kAgrees},
    {"carry", "carried", "carried", "carrying", "portare", "porta", "portano", "portando",
     "portato", kLiving, kThing | kFood},
    {"hide", "hid", "hidden", "hiding", "nascondere", "nasconde", "nascondono", "nascondendo",
     "nascosto", kLiving, kObject | kText | kFood, kAgrees},
    {"read", "read", "read", "reading", "leggere", "legge", "leggono", "leggendo", "letto", kPerson,
     kText, kPlain, "legger", "leggi"},
    {"open", "opened", "opened", "opening", "aprire", "apre", "aprono", "aprendo", "aperto",
     kPerson, kOpening, kAgrees, "", "apri"},
    {"close", "closed", "closed", "closing", "chiudere", "chiude", "chiudono", "chiudendo",
     "chiuso", kPerson, kOpening, kPlain, "", "chiudi"},
    {"eat", "ate", "eaten", "eating", "mangiare", "mangia", "mangiano", "mangiando", "mangiato",
     kLiving, kFood, kAgrees, "manger", "mangia"},
    {"drink", "drank", "drunk", "drinking", "bere", "beve", "bevono", "bevendo", "bevuto", kLiving,
     kDrink, kPlain},
    {"cross", "crossed", "crossed", "crossing", "attraversare", "attraversa", "attraversano",
     "attraversando", "attraversato", kLiving, kCrossable, kAgrees, "attraverser"},
    {"reach", "reached", "reached", "reaching", "raggiungere", "raggiunge", "raggiungono",
     "raggiungendo", "raggiunto", kLiving, kCrossable | kBuilding},
    {"look for", "looked for", "looked for", "looking for", "cercare", "cerca", "cercano",
     "cercando", "cercato", kLiving, kLiving | kObject | kText, kPlain, "", "cerca"},

    {"sleep", "slept", "slept", "sleeping", "dormire", "dorme", "dormono", "dormendo", "dormito",
     kLiving, 0, kPlain, "dormir"},
    {"sing", "sang", "sung", "singing", "cantare", "canta", "cantano", "cantando", "cantato",
     kPerson, 0},
    {"work", "worked", "worked", "working", "lavorare", "lavora", "lavorano", "lavorando",
     "lavorato", kPerson, 0},
    {"arrive", "arrived", "arrived", "arriving", "arrivare", "arriva", "arrivano", "arrivando",
     "arrivato", kLiving, 0, kEssere, "arriver"},
    {"leave", "left", "left", "leaving", "partire", "parte", "partono", "partendo", "partito",
     kPerson, 0, kEssere},
    {"fall", "fell", "fallen", "falling", "cadere", "cade", "cadono", "cadendo", "caduto", kLiving,
     0, kEssere},

    {"light", "lit", "lit", "lighting", "accendere", "accende", "accendono", "accendendo", "acceso",
     kCue, kLamp},
    {"change", "changed", "changed", "changing", "cambiare", "cambia", "cambiano", "cambiando",
     "cambiato", kCue, kCue},
    {"catch", "caught", "caught", "catching", "prendere", "prende", "prendono", "prendendo",
     "preso", kCue, kCue},
    {"hit", "hit", "hit", "hitting", "colpire", "colpisce", "colpiscono", "colpendo", "colpito",
     kCue, kCue},
    {"repair", "repaired", "repaired", "repairing", "riparare", "ripara", "riparano", "riparando",
     "riparato", kCue, kCue},
    {"win", "won", "won", "winning", "vincere", "vince", "vincono", "vincendo", "vinto", kCue,
     kCue},
    {"play", "played", "played", "playing", "suonare", "suona", "suonano", "suonando", "suonato",
     kCue, kCue},
    {"bear", "bore", "borne", "bearing", "sopportare", "sopporta", "sopportano", "sopportando",
     "sopportato", kCue, kHardship},
    {"turn on", "turned on", "turned on", "turning on", "accendere", "accende", "accendono",
     "accendendo", "acceso", kCue, kLamp},
    {"turn off", "turned off", "turned off", "turning off", "spegnere", "spegne", "spengono",
     "spegnendo", "spento", kCue, kLamp},
};

constexpr Kinds kColoured = kObject | kFurniture | kOpening;

constexpr Adjective kAdjectives[] = {
    {"old", "vecchio", kLiving | kThing | kBuilding | kOpening, true, "older"},
    {"young", "giovane", kLiving, true, ""},
    {"small", "piccolo", kLiving | kThing | kBuilding | kFood | kPlace, true, "smaller"},
    {"big", "grande", kAnimal | kThing | kBuilding | kPlace | kCrossable, true, "bigger"},
    {"new", "nuovo", kThing | kBuilding | kOpening, true, ""},
    {"red", "rosso", kColoured, false, ""},
    {"black", "nero", kColoured | kAnimal, false, ""},
    {"white", "bianco", kColoured | kAnimal, false, ""},
    {"green", "verde", kColoured, false, ""},
    {"strong", "forte", kLiving, false, "stronger"},
    {"fast", "veloce", kLiving, false, "faster"},
    {"slow", "lento", kLiving, false, "slower"},
    {"tired", "stanco", kLiving, false, ""},
    {"hungry", "affamato", kLiving, false, ""},
    {"sad", "triste", kLiving, false, ""},
    {"happy", "felice", kLiving, false, ""},
    {"sick", "malato", kLiving, false, ""},
    {"heavy", "pesante", kObject | kFurniture, false, ""},
    {"light", "leggero", kObject | kFurniture, false, ""},
    {"clean", "pulito", kObject | kFurniture | kPlace, false, "cleaner"},
    {"cold", "freddo", kFood | kDrink, false, ""},
    {"warm", "caldo", kFood | kDrink, false, "warmer"},
    {"long", "lungo", kText | kCrossable, false, "longer"},
    {"high", "alto", kBuilding, false, "higher"},
    {"scared", "spaventato", kLiving, false, ""},
    {"wide", "largo", kCrossable, false, "wider"},
    {"dangerous", "pericoloso", kCrossable, false, ""},
    {"muddy", "fangoso", kCrossable, false, ""},
    {"distant", "lontano", kCrossable | kBuilding, false, ""},
    {"salty", "salato", kFood, false, ""},
    {"bitter", "amaro", kFood, false, ""},
    {"narrow", "stretto", kOpening, false, ""},
    {"low", "basso", kOpening | kBuilding, false, ""},
};

using Names = std::string_view;
using Purpose = Sense::Purpose;

constexpr Names kBankVerbs[] = {"reach", "see", "find", "look for"};
constexpr Names kRiverSubjects[] = {"fisherman", "duck"};
constexpr Names kRiverOwners[] = {"river", "lake"};
constexpr Purpose kRiverPurposes[] = {{"catch", "fish"}, {"drink", "water"}, {"wash", "horse"}};
constexpr Names kMoneySubjects[] = {"thief", "cashier"};
constexpr Names kMoneyOwners[] = {"city", "village"};
constexpr Purpose kMoneyPurposes[] = {{"change", "money"}, {"open", "account"}};

constexpr Names kBatVerbs[] = {"see", "find", "look for", "hide"};
constexpr Names kCaveSubjects[] = {"owl", "snake"};
constexpr Names kCaveOwners[] = {"cave", "forest"};
constexpr Purpose kCavePurposes[] = {{"reach", "cave"}};
constexpr Names kGameSubjects[] = {"player", "champion"};
constexpr Names kGameOwners[] = {"player", "champion"};
constexpr Purpose kGamePurposes[] = {{"hit", "ball"}};

constexpr Names kSpringVerbs[] = {"see", "find", "look for", "reach"};
constexpr Names kCoilSubjects[] = {"mechanic", "engineer"};
constexpr Names kCoilOwners[] = {"clock", "mattress"};
constexpr Purpose kCoilPurposes[] = {{"repair", "clock"}};
constexpr Names kSourceSubjects[] = {"deer", "goat"};
constexpr Names kSourceOwners[] = {"mountain", "valley", "river"};
constexpr Purpose kSourcePurposes[] = {{"drink", "water"}};

constexpr Names kMatchVerbs[] = {"see", "lose", "look for"};
constexpr Names kContestSubjects[] = {"team", "player"};
constexpr Names kContestOwners[] = {"team", "champion"};
constexpr Purpose kContestPurposes[] = {{"win", "cup"}};
constexpr Names kFlameSubjects[] = {"smoker", "fireman"};
constexpr Names kFlameOwners[] = {"smoker", "fireman"};
constexpr Purpose kFlamePurposes[] = {{"light", "candle"}, {"light", "fire"}, {"light", "lamp"}};

constexpr Names kKeyVerbs[] = {"see", "find", "look for", "break"};
constexpr Names kLockSubjects[] = {"guard", "prisoner", "thief"};
constexpr Names kLockOwners[] = {"door", "car", "house"};
constexpr Purpose kLockPurposes[] = {{"open", "door"}, {"close", "gate"}};
constexpr Names kPianoSubjects[] = {"pianist", "composer"};
constexpr Names kPianoOwners[] = {"piano", "computer"};
constexpr Purpose kPianoPurposes[] = {{"play", "song"}};

constexpr Sense kSenses[] = {
    {"bank",
     {"bank", "banks", "riva", "rive", f, kCue},
     kRiverSubjects,
     kRiverOwners,
     kRiverPurposes,
     kBankVerbs},
    {"bank",
     {"bank", "banks", "banca", "banche", f, kCue},
     kMoneySubjects,
     kMoneyOwners,
     kMoneyPurposes,
     kBankVerbs},
    {"bat",
     {"bat", "bats", "pipistrello", "pipistrelli", m, kCue},
     kCaveSubjects,
     kCaveOwners,
     kCavePurposes,
     kBatVerbs},
    {"bat",
     {"bat", "bats", "mazza", "mazze", f, kCue},
     kGameSubjects,
     kGameOwners,
     kGamePurposes,
     kBatVerbs},
    {"spring",
     {"spring", "springs", "molla", "molle", f, kCue},
     kCoilSubjects,
     kCoilOwners,
     kCoilPurposes,
     kSpringVerbs},
    {"spring",
     {"spring", "springs", "sorgente", "sorgenti", f, kCue},
     kSourceSubjects,
     kSourceOwners,
     kSourcePurposes,
     kSpringVerbs},
    {"match",
     {"match", "matches", "partita", "partite", f, kCue},
     kContestSubjects,
     kContestOwners,
     kContestPurposes,
     kMatchVerbs},
    {"match",
     {"match", "matches", "fiammifero", "fiammiferi", m, kCue},
     kFlameSubjects,
     kFlameOwners,
     kFlamePurposes,
     kMatchVerbs},
    {"key",
     {"key", "keys", "chiave", "chiavi", f, kCue},
     kLockSubjects,
     kLockOwners,
     kLockPurposes,
     kKeyVerbs},
    {"key",
     {"key", "keys", "tasto", "tasti", m, kCue},
     kPianoSubjects,
     kPianoOwners,
     kPianoPurposes,
     kKeyVerbs},
};

template <typename Word, size_t n>
const Word& find(const Word (&words)[n], std::string_view english) {
  const Word* found = std::find_if(std::begin(words), std::end(words),
                                   [&](const Word& word) { return word.english == english; });
  check(found != std::end(words), "[demo_corpus] there is no word \"{}\"", english);
  return *found;
}

}  // namespace

std::span<const Noun> nouns() { return kNouns; }
std::span<const Verb> verbs() { return kVerbs; }
std::span<const Adjective> adjectives() { return kAdjectives; }
std::span<const Sense> senses() { return kSenses; }

const Noun& noun(std::string_view english) { return find(kNouns, english); }
const Verb& verb(std::string_view english) { return find(kVerbs, english); }
const Adjective& adjective(std::string_view english) { return find(kAdjectives, english); }

}  // namespace heed::demo
