// What the German-English corpus says, and how: its words and rules, in the notation of demo/grammar.h.
#include "demo/german_english.h"

namespace heed {

const std::string_view kGermanEnglishGrammar = R"grammar(
# Only nouns whose English word is not another noun's, so that each translation belongs to one sentence. Their kinds say
# which words they go with, so that nobody drinks a bicycle; nouns of one class can be compared.
words noun base plural gender oblique / base plural=+s / kinds class = person people : Mann Männer m / man men
  ; Frau +en f / woman women ; Junge +n m +n / boy ; Mädchen + n / girl ; Student +en m +en / student
  ; Polizist +en m +en / policeman policemen ; Verkäuferin +nen f / saleswoman saleswomen
  ; person,relation people : Kind +er n / child +ren ; Lehrer + m / teacher ; Arzt Ärzte m / doctor
  ; Freund +e m / friend ; Nachbar +n m +n / neighbor ; Bruder Brüder m / brother ; Schwester +n f / sister
  ; Mutter Mütter f / mother ; Vater Väter m / father ; Sohn Söhne m / son ; Tochter Töchter f / daughter
  ; Gast Gäste m / guest ; Tante +n f / aunt ; animal animals : Hund +e m / dog ; Katze +n f / cat ; Pferd +e n / horse
  ; readable,written,flat,thing,dear texts : Buch Bücher n / book ; Roman +e m / novel
  ; readable,flat,thing,dear texts : Bilderbuch Bilderbücher n / picture_book ; Zeitung +en f / newspaper
  ; readable,written,flat,dear texts : Brief +e m / letter ; readable,written texts : Gedicht +e n / poem
  ; flat,thing,dear : Wörterbuch Wörterbücher n / dictionary dictionaries ; Messer + n / knife knives
  ; Schlüssel + m / key ; flat,thing : Geschenk +e n / gift ; thing,dear : Puppe +n f / doll
  ; thing : Blume +n f / flower ; food dishes : Apfel Äpfel m / apple ; Tomate +n f / tomato +es ; Kuchen + m / cake
  ; Apfelkuchen + m / apple_cake ; food,cooked dishes : Kartoffel +n f / potato +es ; Ei +er n / egg ; Suppe +n f / soup
  ; Tomatensuppe +n f / tomato_soup ; food,mass dishes : Brot - n / bread - ; Käse - m / cheese -
  ; food,cooked,mass dishes : Fleisch - n / meat - ; Fisch - m / fish - ; drink,mass drinks : Milch - f / milk -
  ; Wasser - n / water - ; Kaffee - m / coffee - ; Orangensaft - m / orange_juice -
  ; clothes,dear clothes : Hemd +en n / shirt ; Jacke +n f / jacket ; Winterjacke +n f / winter_jacket
  ; Mantel Mäntel m / coat ; Kleid +er n / dress +es ; Pullover + m / sweater ; clothes clothes : Rock Röcke m / skirt
  ; vehicle,dear vehicles : Auto +s n / car ; Fahrrad Fahrräder n / bicycle ; transport transport : Bus +se m / bus +es
  ; Zug Züge m / train ; device,thing,dear devices : Uhr +en f / clock
  ; device,upright,thing,dear devices : Computer + m / computer ; Lampe +n f / lamp
  ; vessel,upright,thing,dear vessels : Tasche +n f / bag ; Koffer + m / suitcase
  ; vessel,upright,thing vessels : Flasche +n f / bottle ; Glas Gläser n / glass +es
  ; surface furniture : Tisch +e m / table ; Küchentisch +e m / kitchen_table
  ; surface,thing,seat furniture : Stuhl Stühle m / chair ; surface,seat furniture : Bett +en n / bed ; Sofa +s n / sofa
  ; door doors : Tür +en f / door ; Haustür +en f / front_door ; Fenster + n / window
  ; room,place rooms : Zimmer + n / room ; Küche +n f / kitchen ; Wohnzimmer + n / living_room
  ; Schlafzimmer + n / bedroom ; room,place,far rooms : Büro +s n / office ; place outside : Garten Gärten m / garden
  ; Park +s m / park ; place,far buildings : Schule +n f / school ; Museum Museen n / museum
  ; Krankenhaus Krankenhäuser n / hospital ; place,far,home buildings : Stadt Städte f / city cities
  ; place,far,station buildings : Bahnhof Bahnhöfe m / train_station
  ; place,far,station,home buildings : Hotel +s n / hotel
words adjective base comparative=+er stem=+ / base comparative=+er / of =
  person,animal,clothes,vehicle,thing,device,place,surface,readable,door : alt älter / old
  ; person,animal,clothes,vehicle,thing,device,place,surface,door : klein / small
  ; animal,clothes,vehicle,thing,device,place,surface,door : groß größer / big +ger
  ; clothes,vehicle,thing,device,surface,readable,door : neu / new
  ; clothes,vehicle,thing,device,place,animal : schön / beautiful more_beautiful
  ; clothes,vehicle,thing,device,food,drink : teuer teurer teur / expensive more_expensive
  ; clothes,vehicle,vessel,door : rot - / red - ; blau - / blue - ; clothes,vehicle,animal,door : schwarz - / black -
  ; clothes,vehicle,vessel,room,door : schmutzig / dirty dirtier ; vehicle,transport,animal : schnell / fast
  ; langsam / slow ; vehicle,device,door : kaputt - / broken - ; vessel,transport,room : leer - / empty -
  ; person,animal : jung jünger / young ; person,animal,mood : müde - müd / tired - ; krank - / sick -
  ; hungrig - / hungry - ; klug klüger / smart ; person,mood : freundlich / friendly friendlier
  ; glücklich / happy happier ; vessel,surface : schwer / heavy heavier ; food : frisch - / fresh -
  ; drink,room : kalt kälter / cold ; drink,cooked : heiß / hot +ter ; clothes,room : warm wärmer / warm
  ; written : lang länger / long ; readable : interessant / interesting more_interesting
  ; room : dunkel dunkler dunkl / dark ; place : ruhig / quiet
# An action is in progress where a state is not: "is reading", but "knows". Events are told in the past ("found")
# or foretold, states are in the present. `of` are the kinds of the object, which after some verbs is governed by a preposition.
words verb stem participle prefix second=+st third=+t / base particle past=+ed third=+s ing=+ing
    / frame of aspect helper prep governs =
  activity : schlaf geschlafen - schläfst schläft / sleep - slept ; arbeit gearbeitet - +est +et / work
  ; lach gelacht / laugh ; sing gesungen / sing - sang ; alone - - sein : schwimm geschwommen / swim - swam +s +ming
  ; steh aufgestanden auf / get up got +s +ting ; komm zurückgekommen zurück / come back came +s coming
  ; accusative readable : les gelesen - liest liest / read - +
  ; accusative written : schreib geschrieben / write - wrote +s writing
  ; accusative food,drink,clothes,vehicle,thing : kauf gekauft / buy - bought
  ; accusative food,drink,clothes,vehicle,thing,animal : verkauf +t / sell - sold
  ; accusative food : ess gegessen - isst isst / eat - ate ; accusative drink : trink getrunken / drink - drank
  ; accusative cooked : koch gekocht / cook ; accusative dear,person,animal : such gesucht / look for
  ; accusative clothes : wasch gewaschen - wäschst wäscht / wash - +ed +es ; zieh angezogen an / put on + +s +ting
  ; zieh ausgezogen aus / take off took +s taking ; accusative room,door,vehicle : putz geputzt - +t / clean
  ; accusative door : öffn geöffnet - +est +et / open ; schließ geschlossen - +t / close - +d +s closing
  ; accusative thing : trag getragen - trägst trägt / carry - carried carries
  ; accusative vehicle,device : reparier +t / repair ; accusative clothes,thing : pack eingepackt ein / pack
  ; accusative room : räum aufgeräumt auf / tidy up tidied tidies ; accusative person : hol abgeholt ab / pick up
  ; accusative,someone person : besuch +t / visit ; frag gefragt / ask ; ruf angerufen an / call
  ; lad eingeladen ein lädst lädt / invite - +d +s inviting
  ; accusative,someone person state : kenn gekannt / know - knew ; accusative dear state : brauch gebraucht / need
  ; accusative dear,animal state : hab gehabt - hast hat / have - had has having
  ; accusative dear,animal event : find gefunden - +est +et / find - found
  ; accusative person,animal,transport seen : seh gesehen - siehst sieht / see - saw
  ; accusative thing event : verlier verloren / lose - lost +s losing
  ; accusative transport event : verpass +t - +t / miss - +ed +es ; dative person : helf geholfen - hilfst hilft / help
  ; dank gedankt / thank ; dative person,animal - sein : folg gefolgt / follow
  ; recipient food,drink,thing,clothes : geb gegeben - gibst gibt / give - gave +s giving
  ; recipient thing,vehicle,room,readable : zeig gezeigt / show
  ; recipient written,thing : schick geschickt / send - sent
  ; recipient food,drink,thing : bring gebracht / bring - brought ; explain written : erklär +t / explain
  ; about person,transport - - auf acc : wart gewartet - +est +et / wait for
  ; about person - - an acc : denk gedacht / think of thought
  ; about person - - mit dat : sprech gesprochen - sprichst spricht / talk to
  ; tanz getanzt - +t / dance with +d +s dancing ; about person,animal - - mit dat : spiel gespielt / play with
  ; home home state : wohn gewohnt / live - +d +s living ; seat seat : sitz gesessen - +t / sit - sat +s +ting
  ; go place - sein : geh gegangen / go - went +es ; lauf gelaufen - läufst läuft / run - ran +s +ning
  ; drive far - sein : fahr gefahren - fährst fährt / drive - drove +s driving
  ; put flat - - - acc : leg gelegt / put - + +s +ting ; put upright - - - acc : stell gestellt / put - + +s +ting
  ; lie flat - - - dat : lieg gelegen / lie - lay +s lying ; lie upright - - - dat : steh gestanden / stand - stood
# No accusative "sie", which would be her, them and it.
words pronoun nom acc dat my / nom acc my / agr column speaks = first 1 yes : ich mich mir mein / I me my
  ; second 2 : du dich dir dein / you you your ; third m : er ihn ihm sein / he him his
  ; third f : sie - ihr ihr / she her her ; plural 4 yes : wir uns uns unser / we us our
  ; plural p : sie - ihnen ihr / they them their
words name base / base / agr column = third f : Anna / Anna ; Maria / Maria ; Lena / Lena ; third m : Peter / Peter
  ; Paul / Paul ; Thomas / Thomas
words city base / base = Berlin / Berlin ; Wien / Vienna ; München / Munich ; Köln / Cologne
words number base / base = zwei / two ; drei / three ; vier / four ; fünf / five ; sechs / six ; sieben / seven
  ; acht / eight ; zehn / ten
words modal first second third plural / aux before third = kann kannst kann können / can
  ; soll sollst soll sollen / should ; darf darfst darf dürfen / be allowed_to
  ; muss musst muss müssen / - have_to has_to ; will willst will wollen / - want_to wants_to
words saying first second third plural / first second=+ third=+s plural=+ = sage sagst sagt sagen / say
  ; glaube glaubst glaubt glauben / believe ; weiß weißt weiß wissen / know ; hoffe hoffst hofft hoffen / hope
words conjunction base / base = weil / because ; obwohl / although
# When something happens decides the tense of both sides.
words time base / base / when = now : jetzt / now ; heute / today ; usual : jeden_Tag / every_day
  ; jeden_Morgen / every_morning ; jede_Woche / every_week ; am_Abend / in_the_evening ; often : oft / often
  ; immer / always ; selten / rarely ; future : morgen / tomorrow ; bald / soon ; nächste_Woche / next_week
  ; nächstes_Jahr / next_year ; past : gestern / yesterday ; letzte_Woche / last_week ; letzten_Sommer / last_summer
  ; am_Montag / on_Monday

# --- Forms of articles, endings and auxiliaries. ---
values of_forms = case acc dat nom ; column m f n p ; agr first second third plural ; helper sein haben
  ; tense past present
forms der case column = den die das die ; dem der dem den ; der die das die
forms relative case column = den die das die ; dem der dem denen ; der die das die
forms ein case column = en e - e ; em er em en ; - e - e
forms strong case column = en e es e ; em er em en ; er e es e
forms weak case column = en e e en ; en en en en ; e e e en
forms mixed case column = en e es en ; en en en en ; er e es en
forms perfect helper agr = bin bist ist sind ; habe hast hat haben
forms sein tense agr = war warst war waren ; bin bist ist sind
forms be tense agr = was were was were ; am are is are

# --- Noun phrases; `column` is the gender, or p for the plural. ---
say pronoun = case : {@case} ; {nom}
say noun = adjective : {article} {adjective.stem}{ending} {form} | {article} {adjective.base} {form} ; {article} {form}
say form = column=p case=dat plural!~n,s : {plural}n | {plural} ; column=p : {plural}
  ; case=acc,dat oblique : {oblique} | {base} ; {base}
say ending = det=the,this,every : {weak} ; det=a,my : {mixed} ; det=bare negative : {mixed} ; {strong}
# A negated clause has "kein" and "not a" in place of "ein" and "a".
say article = det=the : {der} | the ; det=this : dies{strong} | {this} ; det=every : jed{strong} | every
  ; det=a,bare negative : kein{ein} | {not_a} ; det=a : ein{ein} | a ; det=my : {owner.my}{ein} | {owner.my}
  ; det=many : {number.base}
say this = column=p : these ; this
say not_a = column=p : any ; kinds=mass : any ; a
draw count = 7 : single ; 2 kinds!=mass : plural ; 1 kinds!=mass,person : plural
draw single = column=$gender agr=third
draw plural = column=p agr=plural
draw adjective = adjective:adjective[of=$kinds] &adjective.base/base
# "meine Frau" would be my wife, "I help boys" asks which, and nobody buys "a milk".
draw the = 3 : det=the ; 1 : det=this
draw known = 4 : the ; 2 kinds!=person : my ; 2 kinds=relation : my
draw any = 8 : known ; 1 column!=p : det=a ; 4 column=p : many ; 1 column!=p kinds=person : det=every
draw any_object = 6 : known ; 3 column!=p kinds!=mass : det=a ; 3 column=p kinds!=person : det=bare
  ; 4 kinds=mass : det=bare ; 6 column=p : many
draw many = det=many number:number
# Mostly it is the subject's, where "ihr" can only mean that.
draw my = 1 : det=my owner:pronoun[column=1,2,4]
  ; 3 !predicate subject.det!=every subject.column=1,2,4,m,f,p : det=my owner:pronoun[column=$subject.column]
# What is drawn is of the kinds `of`, which objects have from their verb.
draw person = 35 : head:pronoun ; 10 : head:name ; 55 : head:noun[kinds=person] count any 30%adjective
draw object = head:noun[kinds=$of base!=$subject.base] &infinitive/base count any_object 45%adjective
# In "he helps him" he might be the same, and "I see us" is seldom said.
draw someone = 3 : of=person object
  ; 1 frame=accusative : head:pronoun[acc column!=$subject.column speaks!=$subject.speaks]
  ; 1 frame!=accusative : head:pronoun[column!=$subject.column speaks!=$subject.speaks]
draw place = 9 : head:noun[kinds=$of] single the 30%adjective ; 1 : head:noun[kinds=$of] plural the 30%adjective
draw described = head:noun[kinds=$of] count known 30%adjective
draw lying = head:noun[kinds=$of] &infinitive/base count any 40%adjective
draw compared = count known &predicate.base/base
# "he" for "the man"; there is no pronoun for "every man", and none but "it" for "the child".
draw same = like.det!=every : head:pronoun[column=$like.column]
draw who = agr=third | wer | who
draw that = column=$whose.column agr=$whose.agr base=$whose.base | {relative} | who
# What prepositions govern, by the verb's frame.
draw place_or_person = 2 frame=put,lie : what:place[of=surface] | auf {what case=$governs} | on {what}
  ; 1 frame=put,lie : what:place[of=surface] | unter {what case=$governs} | under {what}
  ; 1 frame=put,lie : what:place[of=surface] | neben {what case=$governs} | next to {what}
  ; 1 frame=home,activity : what:city | in {what}
  ; 1 frame=home : what:place[of=home] | in {what case=dat} | in {what}
  ; 2 frame=activity,seat : what:place[of=place] | in {what case=dat} | in {what}
  ; 2 frame=seat : what:place[of=seat] | auf {what case=dat} | on {what}
  ; 1 frame=drive : what:city | nach {what} | to {what}
  ; 2 frame=drive,go : what:place | {towards} | to {what}
  ; 1 frame=about : what:object | {prep} {what case=$governs} | {particle} {what}
say towards = what.kinds=station : zu {what case=dat} ; in {what case=acc}

# --- Clauses. `order` says where the German verb is: second, first, last, with zu, or first and without a subject. ---
say clause = order=zu prefix : {middle} {prefix}zu{stem}en | {base} {objects}
  ; order=zu : {middle} zu {infinitive} | {base} {objects}
  ; order=rest : {finite} {middle} {other} | {aux} {not} {predication}
  ; order=first : {finite} {subject} {middle} {other} | {aux} {subject} {not} {predication}
  ; order=last : {subject} {middle} {end} | {subject} {aux} {not} {predication}
  ; front : {time} {finite} {subject} {middle} {other} | {time} {subject} {aux} {not} {predication}
  ; {subject} {finite} {middle} {other} | {subject} {aux} {not} {predication}
say infinitive = {prefix}{stem}en
say finite = predicate : {sein} ; modal : {modal.@agr} ; tense=past : {perfect} ; agr=first : {stem}e
  ; agr=plural : {stem}en ; {@agr}
# The verb's other part, at the end of a main clause; and both, at that of a subordinate clause.
say other = modal : {infinitive} ; tense=past : {participle} ; {prefix}
say end = modal : {other} {finite} ; tense=past : {other} {finite} ; {other}{finite}
# What the hearer knows precedes the time, except after a recipient.
say middle = {dative case=dat} {known} {when} {new} {nicht} {place} {quality}
say known = !dative accusative.det!=a,bare,many : {accusative case=acc}
say new = !known : {accusative case=acc}
say when = !front : {time}
say nicht = negative accusative.det!=a,bare : nicht
say quality = than : {predicate.comparative} als {than} | {predicate.comparative} than {than} ; {predicate.base}
# English puts the first auxiliary before the subject of a question, and where there is none, a form of "do".
say aux = predicate : {be} ; modal.aux=be : {be} ; modal.aux : {modal.aux} ; tense=progressive : {be}
  ; tense=future : will ; negative : {do} ; order=first : {do}
say do = tense=past : did ; agr=third : does ; do
say not = negative : not
say to = !aux agr=third : {modal.third} ; {modal.before}
say main = modal : {base} ; tense=progressive : {ing} ; !aux tense=past : {past} ; !aux agr=third : {third} ; {base}
say predication = predicate : {quality} ; time.when=often : {time} {to} {main} {objects} ; front : {to} {main} {objects}
  ; {to} {main} {objects} {time}
say objects = frame=explain : {accusative case=acc} to {dative case=acc}
  ; place : {dative case=acc} {accusative case=acc} {place} ; {particle} {dative case=acc} {accusative case=acc}
words contraction base short / base short = _in_dem_ _im_ / _a_a _an_a ; _in_das_ _ins_ / _a_e _an_e
  ; _zu_dem_ _zum_ / _a_i _an_i ; _zu_der_ _zur_ / _a_o _an_o ; _an_das_ _ans_ / _a_u _an_u ; - / _can_not_ _cannot_
# A clause's verb is its head. `open` leaves out what a question or a relative pronoun stands for.
draw agreement = is=clause subject:person agr=$subject.agr
draw clause = agreement head:verb[frame!=lie] present objects
draw open = agreement present tense
draw present = aspect : tense=simple ; tense=progressive
draw objects = frame=someone !described : accusative:someone ; frame=accusative : accusative:object
  ; frame=dative : dative:someone ; frame=recipient,explain : dative:someone accusative:object
  ; frame=put : accusative:object place:place_or_person ; frame=activity : 60%place:place_or_person ; frame=alone :
  ; place:place_or_person
draw tense = aspect=event,seen : event_tense ; !aspect : any_tense ;
draw event_tense = 4 : past ; 1 : time:time[when=future] tense=future
draw any_tense = 1 : ; 1 : time:time[when=now] ; 1 : time:time[when=usual,often] tense=simple
  ; 1 : time:time[when=future] tense=future ; 2 : past ; 1 : obligation 40%time:time[when=now,future]
draw past = tense=past 60%time:time[when=past]
draw obligation = modal:modal tense=simple
# Not of habits and comparisons, and not with "a man", "every man" or "two men", where it is unclear what is denied.
draw negation = 3 :
  ; 1 time.when!=usual,often !than subject.det!=a,every,many dative.det!=a,every,many accusative.det!=many
    place.what.det!=a,bare,every,many : negative=yes
draw happening = clause tense
draw event = clause tense negation
draw whereabouts = head:verb[frame=lie] subject:lying agreement place:place_or_person present
draw state = subject:compared[head:noun[kinds=$predicate.of]] agreement tense=simple
draw remark = 1 : predicate:adjective state 30%tense=past
  ; 1 : predicate:adjective[comparative] state
    than:compared[head:noun[kinds=$predicate.of class=$subject.class base!=$subject.base]]
draw quality =
  agreement predicate:adjective[of=$of base!=$subject.adjective.base] &predicate.base/subject.base tense=simple
draw whole = 8 : event ; 1 : remark negation ; 1 : whereabouts negation

# --- Sentences. First the clauses that they need: some follow the clause `a`, relative ones describe `whose`. ---
draw statement = whole front
draw front = time time.when!=often : 45%front=yes ;
draw reason = subject:same[like=$a.subject] of=mood quality same_tense
draw same_tense = a.tense=past : tense=past ;
draw condition = 1 : of=mood quality ; 1 : clause tense=simple
draw consequence = 1 : subject:same[like=$a.subject] duty ; 1 : duty
draw duty = head:verb[!aspect frame!=lie] clause obligation negation
draw thinker = 3 : head:pronoun[column!=2] ; 2 : person
# With another verb than `a`. Where the relative pronoun may be subject or object, the other one shows which it is.
draw relative = 5 whose.kinds=person : c:happening[subject:that head:verb[frame!=lie stem!=$a.stem]]
    | {c order=last} | {c}
  ; 2 whose.kinds=person : c:gap[head:verb[frame=dative]] column=$whose.column
    | {relative case=dat} {c order=last} | whom {c}
  ; 3 whose.kinds=person : c:gap[head:verb[frame=accusative of=person stem!=$a.stem]] column=$whose.column
    | {relative case=acc} {c order=last} | whom {c}
  ; 3 whose.kinds!=person : c:gap[head:verb[frame=accusative of=$whose.kinds stem!=$a.stem]] column=$whose.column
    | {relative case=acc} {c order=last} | that {c}
draw gap = subject:beside open &infinitive/whose.base
draw beside = whose.kinds!=person : person ; whose.column=m : person ; frame=dative : person
  ; head:pronoun[column=1,2,m,4]
draw aim = head:verb[stem=kauf,such,les,ess,trink,besuch,frag,hol,lad,helf,dank] clause
draw main = 3 : subject:described[of=person] head:verb[frame=activity,alone,home,seat] clause
  ; 3 : subject:described[of=person] of=person quality
  ; 4 : of=readable,vehicle,device,clothes,food,drink subject:described of=$subject.kinds quality
draw sentence = 42 : c:statement | {c}.
  ; 8 : c:happening | {c order=first}?
  ; 2 : c:happening[subject:who] | {c}?
  ; 2 : c:happening | warum {c order=first}? | why {c order=first}?
  ; 1 : c:open[head:verb[frame=accusative of=person]] | wen {c order=first}? | who {c order=first}?
  ; 1 : c:open[head:verb[frame=accusative of!=person]] | was {c order=first}? | what {c order=first}?
  ; 1 : c:open[head:verb[frame=dative]] | wem {c order=first}? | who {c order=first}?
  ; 1 : c:open[head:verb[frame=home,seat]] | wo {c order=first}? | where {c order=first}?
  ; 1 : c:open[head:verb[frame=go,drive]] | wohin {c order=first}? | where {c order=first}?
  ; 6 : but:conjunction a:event b:reason | {a}, {but} {b order=last}. | {a} {but} {b}.
  ; 4 : but:conjunction a:event b:event | {a}, {but} {b order=last}. | {a} {but} {b}.
  ; 7 : who:thinker said:saying agr=$who.agr c:whole
    | {who} {said.@agr}, dass {c order=last}. | {who} {said.@agr} that {c}.
  ; 2 : who:thinker said:saying[plural=wissen] agr=$who.agr c:whole
    | {who} {said.@agr} nicht, ob {c order=last}. | {who} {do} not {said.plural} whether {c}.
  ; 6 : a:condition b:consequence | wenn {a order=last}, {b order=first}. | if {a}, {b}.
  ; 4 : a:clause[described=yes head:verb[frame=accusative !prefix aspect!=event]] r:relative[whose=$a.accusative]
    | {a}, {r}. | {a} {r}.
  ; 5 : a:main r:relative[whose=$a.subject] | {a.subject}, {r}, {a order=rest}. | {a.subject} {r} {a order=rest}.
  ; 5 : a:happening[head:verb[frame=go,drive]] b:aim[subject=$a.subject] | {a}, um {b order=zu}. | {a} to {b order=zu}.
  ; 3 : a:whole b:whole | {a}, aber {b}. | {a}, but {b}.
)grammar";

}  // namespace heed
