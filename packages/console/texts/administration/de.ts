/** The texts in German of `en.ts`, in its order and as long. The words are those of `../de.ts`. */

import { pluralOf } from '@parley/ui/text/plural.ts';
import type { AdministrationTexts } from '../console-texts.ts';

const plural = pluralOf('de');

const PICTURE = { label: 'Bild', help: 'PNG, JPEG, GIF oder WebP mit höchstens 2 MB.' };
const ROLE = { label: 'Rolle', help: 'Was die Person darf. Sie können geben, was Sie selbst haben.' };

export const texts: AdministrationTexts = {
  administration: {
    done: (action) => `${action}: erledigt.`,
    moreActions: 'Weitere Aktionen',
    notYours: 'Ihre Rolle umfasst die Verwaltung nicht.',
    tryAgain: 'Erneut versuchen',
    loading: 'Wird geladen…',
    title: 'Verwaltung',
    unknown: 'Diesen Bereich gibt es nicht, oder Ihre Rolle umfasst ihn nicht.',
    noDocument: (status) => `Die Beschreibung der API ist nicht verfügbar (${status}).`,
    search: 'Suche',
    filters: 'Filter',
    all: 'Alle',
    wayBack: 'Zurück',
    notOffered: 'Das steht Ihrer Rolle nicht offen',
    edit: 'Bearbeiten',
    saved: 'Die Änderungen wurden gespeichert.',
    meaningUnknown: (operation) =>
      `Die Folgen können nicht ermittelt werden: ${operation} steht nicht zur Verfügung.`,
    save: 'Speichern',
    askChange: (one) => `${one} ändern?`,
    change: (one) => `${one} ändern`,
    new: (one) => `Neu: ${one}`,
    create: 'Erstellen',
    created: (one) => `${one} wurde erstellt.`,
    shownOnce: ': Es wird nur dieses eine Mal angezeigt. Bewahren Sie es an einem sicheren Ort auf.',
    secret: 'Geheimnis',
    closeNotice: 'Hinweis schließen',
    askClose: 'Ohne Kopie schließen?',
    notCopied: 'Es wurde nicht kopiert und kann nicht noch einmal angezeigt werden.',
    closeAnyway: 'Trotzdem schließen',
    copied: 'Kopiert',
    copy: 'Kopieren',
    allEvents: 'Alle, auch solche, die später hinzukommen',
    allOf: (area) => `${area}: alle`,
    ownEvents: 'Ereignisse Ihrer Anwendungen',
    ownEventsHelp: 'Namen mit Leerzeichen dazwischen: order.created order.paid',
    pick: (field) => `Auswählen: ${field}`,
    run: 'Vorgang',
    untitled: 'Ohne Titel',
    noneFits: 'Kein Eintrag entspricht den Filtern.',
    none: 'Noch keine Einträge.',
    showMore: 'Mehr anzeigen',
    askLeave: 'Formular verlassen?',
    notSaved: 'Ihre Eingaben sind nicht gespeichert.',
    leave: 'Verlassen',
    verification: 'Prüfung',
    verify: 'Kette prüfen',
    verdicts: {
      valid: 'Die Signatur des Kettenendes ist gültig.',
      invalid: 'Die Signatur des Kettenendes passt nicht: Es wurde verändert.',
      unsupported: 'Dieser Browser kann die Signatur nicht prüfen: Dafür sind TLS und Ed25519 nötig.',
    },
    headKept: 'Dieser Browser hat sich das Kettenende gemerkt und vergleicht das nächste damit.',
    headBefore: (link) => `Dieser Browser hatte sich zuvor das Kettenende bei Glied ${link} gemerkt.`,
    downloadHead: 'Kettenende herunterladen',
    linksChecked: 'Die einzelnen Glieder der Kette prüft der Betreiber, anhand aufbewahrter Kettenenden:',
    command: 'Befehl',
    chainCut: (now, before) =>
      `Die Kette hat ${now} Glieder und hatte zuvor ${before}: Die neuesten wurden abgeschnitten.`,
    chainRewritten: (link) =>
      `Glied ${link} hat einen anderen Hash als zuvor: Die Kette wurde neu geschrieben.`,
    cases: 'Fälle',
    noCases: 'Es gibt keinen Fall dieses Kunden, den Sie lesen dürfen.',
    openCases: 'Offene Fälle',
    reaching: (count) =>
      count === 0
        ? 'Kein offener Fall erreicht die Personen dieser Gruppe. Neue Fälle erreichen sie von selbst.'
        : plural(count, {
            one: '# Fall erreicht die Personen dieser Gruppe. Neue Fälle erreichen sie von selbst.',
            other: '# Fälle erreichen die Personen dieser Gruppe. Neue Fälle erreichen sie von selbst.',
          }),
    notReaching: (count) =>
      plural(count, {
        one: '# Fall wurde davor eröffnet und erreicht sie nicht.',
        other: '# Fälle wurden davor eröffnet und erreichen sie nicht.',
      }),
    join: 'Personen der Gruppe hinzufügen',
    joinWarning: (count) =>
      plural(count, {
        one: 'Alle in dieser Gruppe können dann # weiteren Fall lesen.',
        other: 'Alle in dieser Gruppe können dann # weitere Fälle lesen.',
      }),
    permissions: 'Berechtigungen',
    adminRole: 'Eine Rolle der Verwaltung erlaubt alles.',
    fields: {
      account: {
        picture_metadata: {
          label: 'Angaben von Kameras in Bildern',
          help: 'Ort, Gerät und Zeit neuer Bilder in Nachrichten: entfernen oder behalten.',
        },
      },
      agent: {
        name: { label: 'Name' },
        role_id: { label: 'Rolle', help: 'Was der Agent darf. Ohne Rolle kann er nicht gestartet werden.' },
        trigger_type: {
          label: 'Auslöser',
          help: 'Chat: Nachrichten der Gespräche, an denen er teilnimmt. Geplant: die Uhr. Ereignis: etwas, das geschieht. Manuell: eine Person. Von Hand gestartet werden kann jeder.',
        },
        status: { label: 'Status', help: 'Ein inaktiver Agent wird nicht gestartet.' },
        slug: {
          label: 'Kurzname',
          help: 'Kleinbuchstaben, Ziffern und Bindestriche: refund-helper. Er kann später nicht geändert werden.',
        },
        category_code: {
          label: 'Kategorie',
          help: 'Agenten werden danach aufgelistet: support, sales.',
        },
        description: { label: 'Beschreibung', help: 'Wofür der Agent da ist.' },
        avatar_s3_key: PICTURE,
        config: { label: 'Arbeitsweise' },
        'config.system_prompt': {
          label: 'Anweisungen',
          help: 'Was der Agent vor jedem Gespräch erfährt: wer er ist, was er tut und was er nicht tun darf.',
        },
        'config.tier': {
          label: 'Modellklasse',
          help: 'Frontier für die schwierigste Arbeit, Hoch für Kunden und Planung, Ausgewogen für Recherchen, Günstig für Einfaches. Leer: passend zum Auslöser.',
        },
        'config.temperature': {
          label: 'Temperatur',
          help: 'Von 0 bis 1. Je niedriger, desto ähnlicher sind sich die Antworten. Leer: wie vom Modell vorgesehen.',
        },
        'config.trigger_config': {
          label: 'Start',
          help: 'Für Agenten, die von der Uhr oder von einem Ereignis gestartet werden.',
        },
        'config.trigger_config.cron_schedule': {
          label: 'Zeitplan',
          help: 'Fünf Felder von cron: 0 9 * * 1 heißt montags um neun. Für geplante Agenten.',
        },
        'config.trigger_config.timezone': { label: 'Zeitzone', help: 'Leer: UTC.' },
        'config.trigger_config.event_filters': {
          label: 'Ereignisse',
          help: 'Für Agenten, die von Ereignissen gestartet werden.',
        },
        'config.tools': { label: 'Werkzeuge', help: 'Was der Agent außer seinen Worten verwenden kann.' },
        'config.tools.tool': { label: 'Werkzeug' },
        'config.tools.require_review': { label: 'Jede Verwendung wartet auf die Freigabe einer Person' },
        'config.tools.config_json': {
          label: 'Einstellungen',
          help: 'Als JSON, falls das Werkzeug welche hat.',
        },
        'config.tools.sort_order': {
          label: 'Reihenfolge',
          help: 'Kleinere Zahlen kommen zuerst. Leer: wie hier aufgeführt.',
        },
        'config.endpoint_tool_slugs': {
          label: 'Aktionen in Parley',
          help: 'Was der Agent hier selbst tun darf, zum Beispiel Nachrichten senden. Er darf nur, was Sie angeben.',
        },
        'config.endpoint_tool_review': {
          label: 'Aktionen, die auf Freigabe warten',
          help: 'Der Name einer Aktion, und ob eine Person jede Verwendung freigibt.',
        },
      },
      cardSource: {
        url: {
          label: 'URL',
          help: 'Dort antwortet Ihre Anwendung mit dem, was sie über einen Kunden weiß. Sie beginnt mit https://. Leer: Es gibt keine Karten.',
        },
      },
      claim: {
        email: { label: 'E-Mail-Adresse', help: 'Die Adresse, mit der sich die Person anmelden wird.' },
        role_id: ROLE,
        name: { label: 'Name', help: 'Leer: Der Name bleibt, wie er importiert wurde.' },
      },
      customer: {
        name: { label: 'Name' },
        email: {
          label: 'E-Mail-Adresse',
          help: 'Wo keine ist, kann sie ergänzt werden; geändert werden kann sie nicht.',
        },
      },
      erase: {
        messages: {
          label: 'Nachrichten',
          help: 'Behalten: Was die Person geschrieben hat, bleibt, von „Deleted user“. Entfernen: Auch die Texte werden gelöscht, ihre Plätze bleiben.',
        },
      },
      exported: { id: { label: 'Von' } },
      forDevelopers: {
        external_id: {
          label: 'Externe ID',
          help: 'Die ID, die Ihre eigene Anwendung dafür hat. Keine darf zweimal vorkommen.',
        },
        metadata: {
          label: 'Metadaten',
          help: 'Notizen Ihrer Anwendung: bis zu 50 Namen, jeder mit einem Text. Kunden sehen die, die mit „public_“ beginnen.',
        },
      },
      group: {
        name: { label: 'Name', help: 'Kunden sehen ihn als Absender von Antworten.' },
        members: {
          label: 'Mitglieder',
          help: 'Personen und Agenten, in der Reihenfolge, in der sie angezeigt werden.',
        },
        avatar_s3_key: PICTURE,
      },
      imported: {
        source: { label: 'Quelle', help: 'Der Dienst, aus dem das Archiv stammt.' },
        origin: {
          label: 'Name des Servers',
          help: 'Nur wenn Sie Archive von mehreren Servern importieren.',
        },
        email_domain: {
          label: 'Domain der Adressen',
          help: 'Personen ohne Adresse erhalten ihren Benutzernamen in dieser Domain.',
        },
        emails_verified: {
          label: 'Die Adressen gehören diesen Personen',
          help: 'Dann ist eine Person, die hier dieselbe Adresse hat, dieselbe Person. Sonst wird jede zu einem Platzhalter.',
        },
        file_token: {
          label: 'Token für Dateien',
          help: 'Ein Token des Dienstes, falls das Archiv Dateien nur verlinkt. Es wird am Ende des Imports entfernt.',
        },
      },
      inbox: {
        name: { label: 'Name', help: 'Kunden sehen ihn neben der Adresse.' },
        address: {
          label: 'Adresse',
          help: 'E-Mails an sie werden zu Fällen. E-Mails an eine frühere Adresse kommen nicht mehr an.',
        },
        group_id: {
          label: 'Gruppe',
          help: 'Antworten werden unter ihrem Namen gesendet. Leer: Customer Service.',
        },
        assignee_id: {
          label: 'Zuständig',
          help: 'Wer neue Fälle erhält. Leer: Sie werden niemandem zugewiesen.',
        },
      },
      key: {
        name: { label: 'Name', help: 'Wofür der Schlüssel da ist.' },
        role_id: { label: 'Rolle', help: 'Was Programme mit diesem Schlüssel dürfen.' },
        expires_at: {
          label: 'Läuft ab',
          help: 'Leer: Der Schlüssel funktioniert, bis er widerrufen wird.',
        },
      },
      person: {
        name: { label: 'Name' },
        email: {
          label: 'E-Mail-Adresse',
          help: 'Die Einladung geht an diese Adresse. Jede Person hat eine eigene.',
        },
        role_id: ROLE,
        avatar_s3_key: PICTURE,
      },
      provider: {
        name: { label: 'Name', help: 'Er steht auf der Anmeldeseite.' },
        issuer: {
          label: 'Aussteller',
          help: 'Die Adresse des Anbieters, genau wie sie in seinen Token steht: https://login.example.com',
        },
        audience: {
          label: 'Empfänger',
          help: 'Die Namen, unter denen der Anbieter Token für Parley ausstellt.',
        },
        person: { label: 'Wer sich anmeldet', help: 'Personen des Teams oder Kunden.' },
        provision: {
          label: 'Personen, die noch nicht hier sind',
          help: 'Aus: Sie werden abgelehnt. Erste Nutzung: Sie werden bei ihrer ersten Anmeldung hinzugefügt.',
        },
        role_id: { label: 'Rolle', help: 'Die Rolle von Personen des Teams, die hinzugefügt werden.' },
        client_id: {
          label: 'Client-ID',
          help: 'Damit melden sich Personen auf den Seiten dieses Servers an. Sie erhalten sie vom Anbieter.',
        },
        client_secret: {
          label: 'Client-Geheimnis',
          help: 'Es gehört zur Client-ID und wird nicht noch einmal angezeigt.',
        },
        jwks_url: {
          label: 'Adresse der Schlüssel',
          help: 'Wo die öffentlichen Schlüssel des Anbieters gelesen werden. Geben Sie diese Adresse, die Schlüssel selbst oder ein gemeinsames Geheimnis an.',
        },
        jwks: { label: 'Schlüssel', help: 'Die öffentlichen Schlüssel selbst, als JSON.' },
        secret: {
          label: 'Gemeinsames Geheimnis',
          help: 'Mindestens 32 Zeichen. Es wird nicht noch einmal angezeigt.',
        },
        algorithms: { label: 'Algorithmen', help: 'Leer: die üblichen.' },
        claims: { label: 'Claims', help: 'Wo in einem Token steht, um wen es geht.' },
        'claims.subject': { label: 'Subjekt', help: 'Leer: sub.' },
        'claims.name': { label: 'Name', help: 'Leer: name.' },
        'claims.email': { label: 'E-Mail-Adresse', help: 'Leer: email.' },
        subject: {
          label: 'Was ein Subjekt bezeichnet',
          help: 'Eigene: eine Person, die nur der Anbieter kennt. Externe ID: die Person mit dieser externen ID.',
        },
      },
      replay: { since: { label: 'Seit', help: 'Ereignisse ab diesem Zeitpunkt werden erneut gesendet.' } },
      retention: {
        messages_days: { label: 'Nachrichten, Tage', help: 'Mit ihren Dateien. Leer: Sie bleiben erhalten.' },
        files_days: { label: 'Dateien, Tage', help: 'Die Nachrichten bleiben. Leer: Sie bleiben erhalten.' },
        notifications_days: { label: 'Benachrichtigungen, Tage', help: 'Leer: Sie bleiben erhalten.' },
        runs_days: {
          label: 'Vorgänge von Agenten, Tage',
          help: 'Ab ihrem Ende gezählt. Leer: Sie bleiben erhalten.',
        },
        audit_days: { label: 'Audit, Tage', help: 'Leer: Es bleibt erhalten.' },
      },
      role: {
        name: { label: 'Name' },
        permissions: { label: 'Berechtigungen', help: 'Sie können geben, was Sie selbst haben.' },
      },
      start: {
        input: {
          label: 'Eingabe',
          help: 'Womit sich der Agent befassen soll, als JSON. Sie kann leer bleiben.',
        },
      },
      webhook: {
        url: {
          label: 'URL',
          help: 'Wohin Ereignisse gesendet werden, per POST. Sie beginnt mit https://.',
        },
        event_types: { label: 'Ereignisse', help: 'Was gesendet wird.' },
        include_direct: {
          label: 'Auch Direktnachrichten zwischen Personen des Teams',
          help: 'Das wird im Audit festgehalten.',
        },
        status: { label: 'Status', help: 'An einen deaktivierten Webhook wird nichts gesendet.' },
        version: {
          label: 'Version',
          help: 'Die Form dessen, was gesendet wird. Eine Vorschau kann sich ändern, die aktuelle stabile Version nicht.',
        },
      },
      widget: {
        name: { label: 'Name', help: 'Nur für Ihr Team.' },
        sites: {
          label: 'Websites',
          help: 'Wo das Widget angezeigt werden darf, jeweils in der Form https://shop.example, ohne etwas dahinter.',
        },
        enabled: {
          label: 'Wird auf diesen Websites angezeigt',
          help: 'Sonst kann niemand ein Gespräch beginnen; begonnene gehen weiter.',
        },
        colors: { label: 'Farben' },
        'colors.light': { label: 'Auf hellen Seiten', help: 'Leer: die Farbe des Widgets selbst.' },
        'colors.dark': { label: 'Auf dunklen Seiten', help: 'Leer: die Farbe des Widgets selbst.' },
        group_id: {
          label: 'Gruppe',
          help: 'Besucher sehen ihren Namen und ihr Bild. Leer: Customer Service.',
        },
        texts: { label: 'Texte', help: 'Leer: die Texte des Widgets selbst.' },
        hours: { label: 'Zeiten', help: 'Wann Ihr Team da ist. Leer: immer.' },
        'hours.timezone': { label: 'Zeitzone' },
        'hours.open': { label: 'Geöffnet' },
        'hours.open.day': { label: 'Tag' },
        'hours.open.from': { label: 'Von', help: 'Zum Beispiel 09:00.' },
        'hours.open.to': {
          label: 'Bis',
          help: 'Zum Beispiel 17:00. Eine frühere Zeit als die erste liegt am Tag darauf.',
        },
        show_team: {
          label: 'Team zeigen',
          help: 'Besucher sehen die Vornamen und die Bilder von bis zu drei Personen der Gruppe.',
        },
        inbox_id: {
          label: 'Posteingang',
          help: 'Antworten, die ein Kunde mit bestätigter Adresse nicht gelesen hat, werden von dort per E-Mail gesendet. Leer: keine.',
        },
        identity_provider_id: {
          label: 'Wer Besucher sind',
          help: 'Ein Anbieter, dessen Token Ihre Website übergibt. Leer: Besucher bleiben unbekannt, bis sie eine Adresse bestätigen.',
        },
      },
      widgetTexts: {
        greeting: { label: 'Begrüßung', help: 'Was Besucher zuerst lesen.' },
        offline: {
          label: 'Während Ihrer Abwesenheit',
          help: 'Was Besucher außerhalb Ihrer Zeiten lesen.',
        },
      },
    },
  },

  agents: {
    title: 'Agenten',
    one: 'Agent',
    about: 'Automatische Kollegen: ihre Anweisungen, Modelle, Werkzeuge und Auslöser.',
    start: 'Vorgang starten',
    delete: 'Löschen',
    deleteWarning: 'Der Agent hält sofort an und wird entfernt. Das kann nicht rückgängig gemacht werden.',
    runs: 'Vorgänge',
    occurrences: 'Zeiten des Zeitplans',
    allRuns: 'Vorgänge von Agenten',
    run: 'Vorgang',
    aboutRuns:
      'Was Agenten getan haben, Schritt für Schritt, was es gekostet hat und was fehlgeschlagen ist.',
    stop: 'Anhalten',
    stopWarning: 'Der Agent hält an, wo er gerade ist.',
    steps: 'Schritte',
    calls: 'Werkzeugaufrufe',
    tools: 'Werkzeuge',
    tool: 'Werkzeug',
    aboutTools: 'Was Agenten erhalten können.',
    trial: 'Ausprobieren',
    trialOf: (agent) => `Test von ${agent}`,
    aboutTrial:
      'Ein Gespräch nur mit dem Agenten. Er antwortet auf jede Nachricht, und jede Antwort ist ein Vorgang.',
    try: 'Jetzt ausprobieren',
    inactive: 'Er ist inaktiv und wird deshalb nicht gestartet. Bearbeiten Sie ihn, um ihn zu aktivieren.',
    noRole:
      'Er hat keine Rolle und kann deshalb nicht gestartet werden. Bearbeiten Sie ihn, um ihm eine zu geben.',
    noChat:
      'Er antwortet nicht auf Nachrichten: Die Uhr, ein Ereignis oder eine Person startet ihn. „Vorgang starten“ startet ihn jetzt.',
    noAnswer: (reason) => `Er hat nicht geantwortet: ${reason}`,
    runFailed: 'Der Vorgang ist fehlgeschlagen.',
    showRun: 'Vorgang anzeigen',
    totals: 'Summen',
    cost: 'Kosten',
    tokensRead: 'Gelesene Token',
    tokensWritten: 'Geschriebene Token',
    showInConversation: 'Im Gespräch anzeigen',
  },

  compliance: {
    exports: 'Exporte',
    export: 'Export',
    aboutExports: 'Was über eine Person oder ein Gespräch gespeichert ist, als signiertes Archiv.',
    exportPerson: 'Person exportieren',
    exportConversation: 'Gespräch exportieren',
    erasures: 'Löschungen',
    erasure: 'Löschung',
    aboutErasures: 'Personen, die endgültig entfernt wurden.',
    retention: 'Aufbewahrung',
    policy: 'Aufbewahrung',
    aboutRetention: 'Nach wie vielen Tagen etwas endgültig gelöscht wird. Leer: Es bleibt erhalten.',
    archive: 'Archiv',
    download: 'Herunterladen',
    check:
      'Sein Manifest enthält den SHA-256-Wert jeder Datei und ist signiert. Dieser Befehl prüft beides, ohne Datenbank:',
    command: 'Befehl',
    allKept: 'Es wird nichts mehr gelöscht: Alles bleibt erhalten.',
    nothingPurged:
      'Zurzeit ist nichts so alt. Von dann an wird alles gelöscht, was älter als seine Frist ist. Was unter einer Sperre steht, bleibt.',
    purged: (amounts) =>
      `Sobald Sie speichern, wird endgültig gelöscht: ${amounts}. Das kann nicht rückgängig gemacht werden. Von dann an wird alles gelöscht, was älter als seine Frist ist. Was unter einer Sperre steht, bleibt.`,
    purge: (amounts) => `${amounts} endgültig löschen`,
    orMore: (count) => `${count} oder mehr`,
    kinds: {
      messages: { one: 'Nachricht', several: 'Nachrichten' },
      files: { one: 'Datei', several: 'Dateien' },
      notifications: { one: 'Benachrichtigung', several: 'Benachrichtigungen' },
      runs: { one: 'Vorgang eines Agenten', several: 'Vorgänge von Agenten' },
      audit: { one: 'Ereignis des Audits', several: 'Ereignisse des Audits' },
    },
  },

  customerCards: {
    title: 'Kundenkarten',
    one: 'Quelle',
    about:
      'Eine Adresse Ihrer eigenen Anwendung, die sagt, was sie über einen Kunden weiß. Die Antwort steht neben dem Fall. Leer: Es gibt keine Karten.',
    rotate: 'Geheimnis erneuern',
    rotateWarning: 'Ein neues Geheimnis signiert die Anfragen; das bisherige gilt daneben noch einen Tag.',
  },

  identity: {
    added: (name) => `${name} wurde hinzugefügt.`,
    invited: (name, email, end) =>
      `${name} wurde hinzugefügt. Eine Einladung ist an ${email} unterwegs; sie gilt bis ${end}.`,
    invitationFailed: (name, reason) =>
      `${name} wurde hinzugefügt. Die Einladung ist fehlgeschlagen: ${reason}`,
    passLinkOn: (name, end) =>
      `${name} wurde hinzugefügt. Dieser Server versendet keine E-Mails: Geben Sie der Person diesen Link. Er meldet einmal an und gilt bis ${end}.`,
    title: 'Identitätsanbieter',
    one: 'Anbieter',
    about: 'Aussteller, deren Token akzeptiert werden und über die sich Personen anmelden.',
    delete: 'Löschen',
    deleteWarning: 'Token dieses Ausstellers werden sofort abgelehnt.',
  },

  import: {
    title: 'Importe',
    one: 'Import',
    about: 'Archive anderer Dienste, und was aus ihnen wurde.',
    cancel: 'Abbrechen',
    cancelWarning: 'Der Import hält an. Was er angelegt hat, bleibt.',
    remarks: 'Anmerkungen',
    archive: 'Archiv',
    choose: 'Wählen Sie das Archiv aus.',
    uploadAndStart: 'Hochladen und starten',
    import: 'Import',
    progress: (done, total) => `${done} von ${total}`,
    report: 'Bericht',
    upload: 'Hochladen',
    rest: 'Das Archiv, um das unterbrochene Hochladen fortzusetzen',
    chooseAgain: (bytes) => `Wählen Sie dasselbe Archiv noch einmal aus: Es hat ${bytes} Bytes.`,
    goOn: 'Fortsetzen',
  },

  installation: {
    title: 'Installation',
    nothingHere: 'Hier ist nichts',
    mistyped: 'Vielleicht hat die Adresse einen Tippfehler.',
    toInbox: 'Zum Posteingang',
    loading: 'Wird geladen…',
    outdated: 'Was angezeigt wird, ist nicht aktuell.',
    checks: 'Prüfungen',
    needsAttention: ' erfordert Aufmerksamkeit: ',
    nothingKnown: 'Noch ist nichts bekannt.',
    allWell: 'Alles ist in Ordnung.',
    attention: (names) => `Achtung: ${names}.`,
    nodes: 'Knoten',
    node: (id) => `Knoten ${id}`,
    states: { up: 'läuft', leaving: 'wird beendet', silent: 'still' },
    silentFor: (seconds) => `seit ${seconds} s still`,
    postgres: (state) => `Postgres: ${state}`,
    postgresStates: {
      away: 'nicht erreichbar',
      disk_full: 'Datenträger voll',
      out_of_memory: 'Arbeitsspeicher erschöpft',
      too_many_connections: 'zu viele Verbindungen',
    },
    redisAway: 'Redis nicht erreichbar',
    diskFull: 'Datenträger voll',
    since: (release, node, time) => [`Parley ${release}, Node ${node}, seit `, time],
    answers: '. Er antwortet dieser Seite.',
    sockets: 'Sockets',
    sends: 'Sendungen',
    deliveries: 'Zustellungen',
    sendP50: 'Senden, p50',
    sendP99: 'Senden, p99',
    eventLoop: 'Event-Loop',
    outboxLag: 'Verzug der Outbox',
    memory: 'Speicher',
    lastMinutes: 'Die letzten zehn Minuten',
    openSockets: 'Offene Sockets',
    timeOfSend: 'Dauer des Sendens',
    eventLoopP99: 'Event-Loop, p99',
  },

  sections: {},

  webhooks: {
    title: 'Webhooks',
    one: 'Webhook',
    about: 'Wohin Ereignisse gesendet werden, und wie das verlief.',
    test: 'Test senden',
    rotate: 'Geheimnis erneuern',
    rotateWarning:
      'Ein neues Geheimnis signiert, was gesendet wird; das bisherige gilt daneben noch eine Weile.',
    replay: 'Erneut senden',
    replayWarning: 'Alle Ereignisse seit diesem Zeitpunkt werden erneut gesendet.',
    delete: 'Löschen',
    deleteWarning: 'Es wird nichts mehr gesendet. Das kann nicht rückgängig gemacht werden.',
    deliveries: 'Zustellungen',
    status: 'Status',
    all: 'Alle',
    nothingSent: 'Es wurde noch nichts gesendet.',
    showMore: 'Mehr anzeigen',
    tries: (count) => `${count} Versuche`,
    nextTry: (time) => `Der nächste Versuch findet spätestens um ${time} statt.`,
    tryNow: 'Jetzt versuchen',
    sendAgain: 'Erneut senden',
    noTry: 'Kein Versuch ist gespeichert.',
    tryAt: (time) => `Versuch um ${time}`,
    request: 'Anfrage',
    requestNow: 'Anfrage, mit dem jetzigen Inhalt',
    answered: (code) => `Antwort ${code}`,
    errors: {
      status: 'Antwort {code}',
      redirect: 'Weiterleitung ({code}), der nicht gefolgt wird',
      gone: 'Antwort 410: nicht mehr da',
      timeout: 'Keine rechtzeitige Antwort',
      connection_error: 'Keine Verbindung',
      invalid_response: 'Keine lesbare Antwort',
      webhook_disabled: 'Nicht gesendet: Der Webhook wurde deaktiviert',
    },
  },

  widgets: {
    title: 'Widgets',
    one: 'Widget',
    about: 'Chats, die die Seiten Ihrer Websites einbetten.',
    delete: 'Löschen',
    deleteWarning: 'Seiten, die das Widget einbetten, zeigen es nicht mehr an.',
    preview: 'Vorschau',
    greeting: 'Hallo! Wie können wir helfen?',
    onLight: 'Auf hellen Seiten',
    onDark: 'Auf dunklen Seiten',
    snippet: 'Codeausschnitt',
    snippetPlace: 'Fügen Sie ihn am Ende der Seiten der oben genannten Websites ein.',
  },
};
