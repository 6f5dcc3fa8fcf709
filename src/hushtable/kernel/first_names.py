"""First names, by which a column of people is recognised, so that a draft leaves it out."""

_LISTED = """
    aaron abdul abigail adam adriana agnes ahmed alan albert alejandro alessandro alex alexander alexandra ali alice
    alina amanda amelie ana anastasia andrea andreas andrew angela anita anke ann anna anne annika anthony antonio
    antonia arthur astrid aylin barbara beat beatrice ben benjamin bernd bernhard bettina birgit bjorn brian bruno
    caitlin camille carla carlo carlos carmen caroline catherine cecilia charles chiara chloe chris christian
    christina christine christoph christopher claire clara claudia claudio cornelia cristina dagmar daniel daniela
    dario dave david deborah denise dennis diana diego dieter dimitri dominik donald dorothea dylan edith eduard
    edward elena eleonora elias elisa elisabeth elizabeth ella elsa emil emilia emily emma enrico eric erik ernst
    esther ethan eva evelyn fabian fabio fatima felix fernando filip florian francesca francesco francisco francois
    frank franz franziska fred frederic friedrich fritz gabriel gabriela gabriele gary george gerald gerhard gianni
    gisela giovanni giulia giuseppe gloria grace greta gregor guido gustav hanna hannah hans harald harry hassan
    heather heidi heike heinrich heinz helen helena helga helmut henri henrik henry herbert hermann hilde holger
    horst hugo ian ibrahim ines ingrid irene iris irina isabel isabella ivan ivana jacob jacques jakob james jan
    jana jane janet jason javier jean jeanne jeff jennifer jens jessica joan joanna joao joel johan johann johanna
    johannes john jon jonas jonathan jorge jorg jose josef joseph josh juan judith julia julian juliane julie jurgen
    justin karen karin karl karla karolina katarina katharina kathrin katja katrin kenneth kerstin kevin kim klaus
    konrad kristina kurt lara lars laura lea lena leo leon leonie liam lina linda lisa liz lorenzo louis louise luca
    lucas lucia lucy ludwig luis luisa luke lukas lutz maja malte manfred manuel manuela marc marcel marco marcus
    margaret margarete maria mariana marianne marie marina mario marion mark markus marta martha martin martina mary
    mateo mathias matteo matthew matthias max maximilian maya mehmet melanie mia michael michel michele michelle
    miguel mike milan mira miriam mohamed mohammed monica monika nadia nadine nancy natalia natalie nathan nicola
    nicolas nicole niklas nina nora norbert oksana olaf olga oliver olivia oscar oskar otto pablo paolo pascal
    patricia patrick paul paula pauline pavel pedro peter petra philip philipp philippe pia pierre piotr rachel
    rainer ralf ramon raphael rebecca regina regula reinhard renate rene reto ricardo richard rita robert roberto
    robin roland rolf roman rosa ruth ryan sabine sabrina salma samantha samuel sandra sara sarah sebastian sergio
    sharon silke silvia simon simone sofia sonja sophia sophie stefan stefanie stella stephan stephen steven susan
    susanne sven sylvia tanja tatjana teresa theo theresa thomas tim timo tina tobias tom tomas ulrich ulrike ursula
    urs uwe valentina valerie vanessa vera verena veronika victor viktor vincent vladimir walter werner wilhelm
    william wolfgang xavier yasmin yusuf yvonne zoe
"""
FIRST_NAMES = frozenset(_LISTED.split())
"""Common ones in the languages of some offices, in small letters without marks.  People none of whom has one are
recognised by the name of their column, or not at all."""
