/**
 * The texts in English of the rooms that are loaded with the administration: a section for each
 * folder, in alphabetical order, all in one long file.
 */

import { pluralOf } from '@parley/ui/text/plural.ts';
import type { ComponentChildren } from 'preact';

const plural = pluralOf('en');

const PICTURE = { label: 'Picture', help: 'A PNG, JPEG, GIF or WebP of 2 MB at most.' };
const ROLE = { label: 'Role', help: 'What the person may do. You can give what you have yourself.' };

export const texts = {
  administration: {
    done: (action: string) => `${action}: done.`,
    moreActions: 'More actions',
    notYours: 'Your role does not include the administration.',
    tryAgain: 'Try again',
    loading: 'Loading…',
    title: 'Administration',
    unknown: 'This part is not there, or your role does not include it.',
    noDocument: (status: number) => `The description of the API is not there (${status}).`,
    search: 'Search',
    filters: 'Filters',
    all: 'All',
    wayBack: 'Way back',
    notOffered: 'This is not offered to your role',
    edit: 'Edit',
    saved: 'The changes are saved.',
    meaningUnknown: (operation: string) => `What it means cannot be read: ${operation} is not offered.`,
    save: 'Save',
    askChange: (one: string) => `Change the ${one}?`,
    change: (one: string) => `Change the ${one}`,
    new: (one: string) => `New ${one}`,
    create: 'Create',
    created: (one: string) => `The ${one} was created.`,
    shownOnce: ': it is shown this once. Keep it where it is safe.',
    secret: 'Secret',
    closeNotice: 'Close the notice',
    askClose: 'Close without a copy?',
    notCopied: 'It was not copied, and cannot be shown again.',
    closeAnyway: 'Close anyway',
    copied: 'Copied',
    copy: 'Copy',
    allEvents: 'Everything, also what is added later',
    allOf: (area: string) => `${area}: all`,
    ownEvents: 'Events of your applications',
    ownEventsHelp: 'Names with spaces between them: order.created order.paid',
    pick: (field: string) => `Pick: ${field}`,
    run: 'Run',
    untitled: 'Without a title',
    noneFits: 'Nothing fits the filters.',
    none: 'None yet.',
    showMore: 'Show more',
    askLeave: 'Leave the form?',
    notSaved: 'What you have typed is not saved.',
    leave: 'Leave',
    verification: 'Verification',
    verify: 'Verify the chain',
    verdicts: {
      valid: 'The signature of the head is valid.',
      invalid: 'The signature of the head does not fit: it was changed.',
      unsupported: 'This browser cannot check the signature: it needs TLS, and Ed25519.',
    },
    headKept: 'This browser has kept the head, and compares the next one with it.',
    headBefore: (link: number) => `This browser kept the head of link ${link} before.`,
    downloadHead: 'Download the head',
    linksChecked: 'Each link of the chain is checked by the operator, against heads that were kept:',
    command: 'Command',
    chainCut: (now: number, before: number) =>
      `The chain has ${now} links, and had ${before} before: the newest ones were cut.`,
    chainRewritten: (link: number) =>
      `Link ${link} has another hash than before: the chain was written again.`,
    cases: 'Cases',
    noCases: 'There is no case of this customer that you may read.',
    openCases: 'Open cases',
    reaching: (count: number) =>
      count === 0
        ? 'No open case reaches the people of this group. New cases do by themselves.'
        : plural(count, {
            one: '# case reaches the people of this group. New cases do by themselves.',
            other: '# cases reach the people of this group. New cases do by themselves.',
          }),
    notReaching: (count: number) =>
      plural(count, {
        one: '# case was opened before and does not.',
        other: '# cases were opened before and do not.',
      }),
    join: 'Add the people of the group',
    joinWarning: (count: number) =>
      plural(count, {
        one: 'Everybody in this group can then read # case more.',
        other: 'Everybody in this group can then read # cases more.',
      }),
    permissions: 'Permissions',
    adminRole: 'An admin role permits everything.',
    /** By the paths of the fields, in the order in which forms show them. */
    fields: {
      account: {
        picture_metadata: {
          label: 'What cameras write into pictures',
          help: 'Place, device and time of new pictures in messages: remove it, or keep it.',
        },
      },
      agent: {
        name: { label: 'Name' },
        role_id: { label: 'Role', help: 'What the agent may do. Without a role it cannot run.' },
        trigger_type: {
          label: 'What starts it',
          help: 'Chat: messages of conversations that it is in. Scheduled: the clock. Event: something that happens. Manual: a person. Each can also be started by hand.',
        },
        status: { label: 'Status', help: 'An inactive agent is not started.' },
        slug: {
          label: 'Short name',
          help: 'Small letters, digits and dashes: refund-helper. It stays as it is.',
        },
        category_code: { label: 'Category', help: 'Agents are listed by it: support, sales.' },
        description: { label: 'Description', help: 'What the agent is for.' },
        avatar_s3_key: PICTURE,
        config: { label: 'How it works' },
        'config.system_prompt': {
          label: 'Instructions',
          help: 'What the agent is told before each conversation: who it is, what it does, what it must not do.',
        },
        'config.tier': {
          label: 'Class of models',
          help: 'Frontier for the hardest work, high for customers and planning, balanced for research, cheap for simple things. Empty: what fits the start.',
        },
        'config.temperature': {
          label: 'Temperature',
          help: 'From 0 to 1. Lower answers are more alike. Empty: as the model has it.',
        },
        'config.trigger_config': { label: 'Start', help: 'For agents that the clock or an event starts.' },
        'config.trigger_config.cron_schedule': {
          label: 'Schedule',
          help: 'Five fields of cron: 0 9 * * 1 is Mondays at nine. For scheduled agents.',
        },
        'config.trigger_config.timezone': { label: 'Time zone', help: 'Empty: UTC.' },
        'config.trigger_config.event_filters': { label: 'Events', help: 'For agents that events start.' },
        'config.tools': { label: 'Tools', help: 'What the agent can use beside its words.' },
        'config.tools.tool': { label: 'Tool' },
        'config.tools.require_review': { label: 'Each use waits for the approval of a person' },
        'config.tools.config_json': { label: 'Settings', help: 'As JSON, where the tool has any.' },
        'config.tools.sort_order': { label: 'Place', help: 'Lower comes first. Empty: as listed here.' },
        'config.endpoint_tool_slugs': {
          label: 'Actions in Parley',
          help: 'What the agent may do here by itself, such as sending messages. None are given unless you name them.',
        },
        'config.endpoint_tool_review': {
          label: 'Actions that wait for approval',
          help: 'The name of an action, and whether a person approves each use.',
        },
      },
      cardSource: {
        url: {
          label: 'URL',
          help: 'Your application answers there with what it knows of a customer. It begins with https://. Empty: there are no cards.',
        },
      },
      claim: {
        email: { label: 'Email', help: 'The address with which the person will sign in.' },
        role_id: ROLE,
        name: { label: 'Name', help: 'Empty: the name stays as it was imported.' },
      },
      customer: {
        name: { label: 'Name' },
        email: { label: 'Email', help: 'It can be added where there is none, and not changed.' },
      },
      erase: {
        messages: {
          label: 'Messages',
          help: 'Keep: what the person wrote stays, by “Deleted user”. Remove: the texts go too, and their places stay.',
        },
      },
      exported: { id: { label: 'Of' } },
      forDevelopers: {
        external_id: {
          label: 'External ID',
          help: 'The ID that your own application has for it. No two may have the same.',
        },
        metadata: {
          label: 'Metadata',
          help: 'Notes of your application: up to 50 names, each with a text. Customers see those that begin with “public_”.',
        },
      },
      group: {
        name: { label: 'Name', help: 'Customers see it as the sender of answers.' },
        members: { label: 'Members', help: 'People and agents, in the order in which they are shown.' },
        avatar_s3_key: PICTURE,
      },
      imported: {
        source: { label: 'Source', help: 'The service that the archive is from.' },
        origin: { label: 'Name of the server', help: 'Only if you import archives of several servers.' },
        email_domain: {
          label: 'Domain of addresses',
          help: 'People without an address get their user name at this domain.',
        },
        emails_verified: {
          label: 'The addresses belong to these people',
          help: 'Then a person with the same address here is the same person. Otherwise each becomes a placeholder.',
        },
        file_token: {
          label: 'Token for files',
          help: 'Of the service, if the archive only links to files. It is removed when the import ends.',
        },
      },
      inbox: {
        name: { label: 'Name', help: 'Customers see it beside the address.' },
        address: {
          label: 'Address',
          help: 'Mail to it becomes cases. Mail to an earlier address does not arrive any more.',
        },
        group_id: { label: 'Group', help: 'Answers are sent under its name. Empty: Customer Service.' },
        assignee_id: {
          label: 'Assignee',
          help: 'Who gets new cases. Empty: they are assigned to nobody.',
        },
      },
      key: {
        name: { label: 'Name', help: 'What the key is for.' },
        role_id: { label: 'Role', help: 'What programs with this key may do.' },
        expires_at: { label: 'Expires', help: 'Empty: the key works until it is revoked.' },
      },
      person: {
        name: { label: 'Name' },
        email: {
          label: 'Email',
          help: 'The invitation goes to this address. Each person has their own.',
        },
        role_id: ROLE,
        avatar_s3_key: PICTURE,
      },
      provider: {
        name: { label: 'Name', help: 'People see it on the page to sign in.' },
        issuer: {
          label: 'Issuer',
          help: 'The address of the provider, exactly as it stands in its tokens: https://login.example.com',
        },
        audience: {
          label: 'Audience',
          help: 'The names under which the provider issues tokens for Parley.',
        },
        person: { label: 'Who signs in', help: 'People of the team, or customers.' },
        provision: {
          label: 'People who are not here yet',
          help: 'Off: they are refused. First use: they are added when they sign in first.',
        },
        role_id: { label: 'Role', help: 'The role of people of the team who are added.' },
        client_id: {
          label: 'Client ID',
          help: 'With it people sign in on the pages of this server. The provider gives it to you.',
        },
        client_secret: {
          label: 'Client secret',
          help: 'It comes with the client ID, and is never shown again.',
        },
        jwks_url: {
          label: 'Address of the keys',
          help: 'Where the public keys of the provider are read. Give this, the keys themselves, or a shared secret.',
        },
        jwks: { label: 'Keys', help: 'The public keys themselves, as JSON.' },
        secret: { label: 'Shared secret', help: 'At least 32 characters. It is never shown again.' },
        algorithms: { label: 'Algorithms', help: 'Empty: the usual ones.' },
        claims: { label: 'Claims', help: 'Where a token says who it is about.' },
        'claims.subject': { label: 'Subject', help: 'Empty: sub.' },
        'claims.name': { label: 'Name', help: 'Empty: name.' },
        'claims.email': { label: 'Email', help: 'Empty: email.' },
        subject: {
          label: 'What a subject names',
          help: 'Own: a person that the provider alone knows. External ID: the person with that external ID.',
        },
      },
      replay: { since: { label: 'Since', help: 'Events from this time on are sent again.' } },
      retention: {
        messages_days: { label: 'Messages, days', help: 'With their files. Empty: they are kept.' },
        files_days: { label: 'Files, days', help: 'The messages stay. Empty: they are kept.' },
        notifications_days: { label: 'Notifications, days', help: 'Empty: they are kept.' },
        runs_days: {
          label: 'Runs of agents, days',
          help: 'Counted from their end. Empty: they are kept.',
        },
        audit_days: { label: 'Audit, days', help: 'Empty: it is kept.' },
      },
      role: {
        name: { label: 'Name' },
        permissions: { label: 'Permissions', help: 'You can give what you have yourself.' },
      },
      start: {
        input: { label: 'Input', help: 'What the agent works on, as JSON. It may be left empty.' },
      },
      webhook: {
        url: { label: 'URL', help: 'Where events are sent, by POST. It begins with https://.' },
        event_types: { label: 'Events', help: 'What is sent.' },
        include_direct: {
          label: 'Include direct messages between people of the team',
          help: 'This is recorded in the audit.',
        },
        status: { label: 'Status', help: 'A disabled webhook is sent nothing.' },
        version: {
          label: 'Version',
          help: 'The form of what is sent. A preview may change; the current stable version does not.',
        },
      },
      widget: {
        name: { label: 'Name', help: 'For your team alone.' },
        sites: {
          label: 'Sites',
          help: 'Where the widget may be shown, each as https://shop.example, without anything behind it.',
        },
        enabled: {
          label: 'Shown on these sites',
          help: 'Otherwise nobody can begin a conversation; those that have begun go on.',
        },
        colors: { label: 'Colours' },
        'colors.light': { label: 'On light pages', help: 'Empty: the colour of the widget itself.' },
        'colors.dark': { label: 'On dark pages', help: 'Empty: the colour of the widget itself.' },
        group_id: {
          label: 'Group',
          help: 'Visitors see its name and picture. Empty: Customer Service.',
        },
        texts: { label: 'Texts', help: 'Empty: the texts of the widget itself.' },
        hours: { label: 'Hours', help: 'When your team is there. Empty: always.' },
        'hours.timezone': { label: 'Time zone' },
        'hours.open': { label: 'Open' },
        'hours.open.day': { label: 'Day' },
        'hours.open.from': { label: 'From', help: 'Such as 09:00.' },
        'hours.open.to': {
          label: 'To',
          help: 'Such as 17:00. An earlier time than the first is on the next day.',
        },
        show_team: {
          label: 'Show the team',
          help: 'Visitors see the first names and the pictures of up to three people of the group.',
        },
        inbox_id: {
          label: 'Inbox',
          help: 'Answers that a customer with a confirmed address has not read are mailed from it. Empty: none are.',
        },
        identity_provider_id: {
          label: 'Who visitors are',
          help: 'A provider whose tokens your site hands over. Empty: visitors stay unknown until they confirm an address.',
        },
      },
      widgetTexts: {
        greeting: { label: 'Greeting', help: 'What a visitor reads first.' },
        offline: { label: 'While you are away', help: 'What a visitor reads outside of your hours.' },
      },
    },
  },

  agents: {
    title: 'Agents',
    one: 'agent',
    about: 'Automated colleagues: their instructions, models, tools and triggers.',
    start: 'Start a run',
    delete: 'Delete',
    deleteWarning: 'The agent stops at once and is removed. This cannot be undone.',
    runs: 'Runs',
    occurrences: 'Times of the schedule',
    allRuns: 'Runs of agents',
    run: 'run',
    aboutRuns: 'What agents did, step by step, what it cost, and what failed.',
    stop: 'Stop',
    stopWarning: 'The agent stops where it is.',
    steps: 'Steps',
    calls: 'Calls of tools',
    tools: 'Tools',
    tool: 'tool',
    aboutTools: 'What agents can be given.',
    trial: 'Trial',
    trialOf: (agent: string) => `Trial of ${agent}`,
    aboutTrial: 'A conversation with the agent alone. It answers every message, and each answer is a run.',
    try: 'Try it',
    inactive: 'It is inactive, so it is not started. Edit it to make it active.',
    noRole: 'It has no role, so it cannot run. Edit it to give it one.',
    noChat:
      'It does not answer messages: the clock, an event or a person starts it. “Start a run” starts it now.',
    noAnswer: (reason: string) => `It did not answer: ${reason}`,
    runFailed: 'the run failed.',
    showRun: 'Show the run',
    totals: 'Totals',
    cost: 'Cost',
    tokensRead: 'Tokens read',
    tokensWritten: 'Tokens written',
    showInConversation: 'Show it in its conversation',
  },

  compliance: {
    exports: 'Exports',
    export: 'export',
    aboutExports: 'What is kept of a person or a conversation, as a signed archive.',
    exportPerson: 'Export a person',
    exportConversation: 'Export a conversation',
    erasures: 'Erasures',
    erasure: 'erasure',
    aboutErasures: 'Persons that were removed for good.',
    retention: 'Retention',
    policy: 'policy',
    aboutRetention: 'After how many days things are purged. Empty: they are kept.',
    archive: 'Archive',
    download: 'Download',
    check: 'Its manifest has the SHA-256 of each file, and is signed. This checks both, with no database:',
    command: 'Command',
    allKept: 'Nothing is purged any more: everything is kept.',
    nothingPurged:
      'Nothing is that old now. From then on everything goes once it is older than its period. What is under a legal hold stays.',
    purged: (amounts: string) =>
      `${amounts} will be purged for good as soon as this is saved. This cannot be undone. From then on everything goes once it is older than its period. What is under a legal hold stays.`,
    purge: (amounts: string) => `Purge ${amounts} for good`,
    orMore: (count: string) => `${count} or more`,
    kinds: {
      messages: { one: 'message', several: 'messages' },
      files: { one: 'file', several: 'files' },
      notifications: { one: 'notification', several: 'notifications' },
      runs: { one: 'run of an agent', several: 'runs of agents' },
      audit: { one: 'audit event', several: 'audit events' },
    },
  },

  /** Words for names of the contract, which are English by themselves. */
  contract: {} as Readonly<Record<string, string>>,

  customerCards: {
    title: 'Customer cards',
    one: 'source',
    about:
      'An address of your own application, which says what it knows of a customer. The answer stands beside the case. Empty: there are no cards.',
    rotate: 'Rotate secret',
    rotateWarning: 'A new secret signs the requests; the one before counts for a day beside it.',
  },

  identity: {
    added: (name: string) => `${name} was added.`,
    invited: (name: string, email: string, end: string) =>
      `${name} was added. An invitation is on its way to ${email}, and ends on ${end}.`,
    invitationFailed: (name: string, reason: string) => `${name} was added. The invitation failed: ${reason}`,
    passLinkOn: (name: string, end: string) =>
      `${name} was added. This server sends no mail: give this link to the person. It signs in once, and ends on ${end}.`,
    title: 'Identity providers',
    one: 'provider',
    about: 'Issuers whose tokens are accepted, and by which people sign in.',
    delete: 'Delete',
    deleteWarning: 'Tokens of this issuer are refused at once.',
  },

  import: {
    title: 'Imports',
    one: 'import',
    about: 'Archives of other services, and what became of them.',
    cancel: 'Cancel',
    cancelWarning: 'The import stops. What it has made stays.',
    remarks: 'Remarks',
    archive: 'Archive',
    choose: 'Choose the archive.',
    uploadAndStart: 'Upload and start',
    import: 'Import',
    progress: (done: number, total: number) => `${done} of ${total}`,
    report: 'Report',
    upload: 'Upload',
    rest: 'The archive, to go on where the upload was broken off',
    chooseAgain: (bytes: string) => `Choose the same archive again: it has ${bytes} bytes.`,
    goOn: 'Go on',
  },

  installation: {
    title: 'Installation',
    nothingHere: 'Nothing is here',
    mistyped: 'The address may be mistyped.',
    toInbox: 'Go to the inbox',
    loading: 'Loading…',
    outdated: 'What is shown is not up to date.',
    checks: 'Checks',
    needsAttention: ' needs attention: ',
    nothingKnown: 'Nothing is known yet.',
    allWell: 'Everything is well.',
    attention: (names: string) => `Attention: ${names}.`,
    nodes: 'Nodes',
    node: (id: string) => `Node ${id}`,
    states: { up: 'up', leaving: 'leaving', silent: 'silent' },
    silentFor: (seconds: number) => `silent for ${seconds} s`,
    postgres: (state: string) => `Postgres ${state}`,
    postgresStates: {
      away: 'away',
      disk_full: 'disk full',
      out_of_memory: 'out of memory',
      too_many_connections: 'too many connections',
    },
    redisAway: 'Redis away',
    diskFull: 'disk full',
    since: (release: string, node: string, time: ComponentChildren): ComponentChildren => [
      `Parley ${release}, Node ${node}, since `,
      time,
    ],
    answers: '. It answers this page.',
    sockets: 'Sockets',
    sends: 'Sends',
    deliveries: 'Deliveries',
    sendP50: 'Send p50',
    sendP99: 'Send p99',
    eventLoop: 'Event loop',
    outboxLag: 'Outbox lag',
    memory: 'Memory',
    lastMinutes: 'The last ten minutes',
    openSockets: 'Open sockets',
    timeOfSend: 'Time of a send',
    eventLoopP99: 'Event loop, p99',
  },

  sections: {},

  webhooks: {
    title: 'Webhooks',
    one: 'webhook',
    about: 'Where events are sent to, and how that went.',
    test: 'Send a test',
    rotate: 'Rotate secret',
    rotateWarning: 'A new secret signs what is sent; the one before counts for a while beside it.',
    replay: 'Replay',
    replayWarning: 'All events since then are sent again.',
    delete: 'Delete',
    deleteWarning: 'Nothing more is sent. This cannot be undone.',
    deliveries: 'Deliveries',
    status: 'Status',
    all: 'All',
    nothingSent: 'Nothing was sent yet.',
    showMore: 'Show more',
    tries: (count: number) => `${count} tries`,
    nextTry: (time: string) => `The next try is at ${time} at the latest.`,
    tryNow: 'Try now',
    sendAgain: 'Send again',
    noTry: 'No try is kept.',
    tryAt: (time: string) => `Try at ${time}`,
    request: 'Request',
    requestNow: 'Request, with the content as it is now',
    answered: (code: number) => `Answered ${code}`,
    errors: {
      status: 'Answered {code}',
      redirect: 'Redirected ({code}), which is not followed',
      gone: 'Answered 410: gone',
      timeout: 'No answer in time',
      connection_error: 'No connection',
      invalid_response: 'No readable answer',
      webhook_disabled: 'Not sent: the webhook was disabled',
    },
  },

  widgets: {
    title: 'Widgets',
    one: 'widget',
    about: 'Chats that pages of your sites embed.',
    delete: 'Delete',
    deleteWarning: 'Pages that embed the widget do not show it any more.',
    preview: 'Preview',
    greeting: 'Hello! How can we help?',
    onLight: 'On light pages',
    onDark: 'On dark pages',
    snippet: 'Snippet',
    snippetPlace: 'Put it before the end of the pages of the sites that are named above.',
  },
};
