/** The messages of the demo account during one day, as data. src/app/demo/day.ts writes them. */

export type Person = 'ada' | 'grace' | 'assistant' | 'nils' | 'ines';

export const CUSTOMERS = {
  nils: { name: 'Nils Holm', email: 'nils@example.net' },
  ines: { name: 'Ines Ferreira', email: 'ines@example.net' },
} as const satisfies Partial<Record<Person, { readonly name: string; readonly email: string }>>;

/** Drawn for this project; the files are in pictures/. */
export type Picture = 'orders-per-hour' | 'which-screw' | 'cake';

export interface DayConversation {
  readonly title: string;
  /** The customer of a case, and whether it came by mail. */
  readonly customer?: { readonly person: keyof typeof CUSTOMERS; readonly byMail: boolean };
  readonly assignee?: 'ada' | 'grace';
  readonly hasAgent?: true;
  /** The number of last messages that these people have not read; others have read everything. */
  readonly unread: Readonly<Partial<Record<'ada' | 'grace', number>>>;
  readonly messages: readonly DayMessage[];
}

export interface DayMessage {
  /** Minutes before the day is written. */
  readonly ago: number;
  readonly by: Person;
  /** `@ada`, `@grace` and `@assistant` are mentions. */
  readonly text: string;
  /** A message between team and customer; other messages on a case are notes to the team. */
  readonly external?: true;
  /** By mail: to the customer, or from the customer with this HTML. */
  readonly mail?: 'sent' | { readonly html: string };
  readonly picture?: Picture;
  /** The name by which other messages refer to this one. */
  readonly name?: string;
  /** The name of the message that this one replies to. */
  readonly replyTo?: string;
  /** The name of the message that the agent answers. */
  readonly answerTo?: string;
  readonly reactions?: Readonly<Record<string, readonly Person[]>>;
  readonly pinnedBy?: 'ada' | 'grace';
}

export const LAUNCH = 'Launch week';

export const DAY: readonly DayConversation[] = [
  {
    title: LAUNCH,
    hasAgent: true,
    unread: { grace: 2 },
    messages: [
      { ago: 560, by: 'ada', text: 'Good morning! Five days until the autumn catalogue goes live.' },
      {
        ago: 556,
        by: 'grace',
        text: 'Morning. The warehouse has confirmed the stock: 412 chairs, 95 desks, 60 lamps.',
        reactions: { '🎉': ['ada'] },
      },
      {
        ago: 548,
        by: 'ada',
        name: 'plan',
        text: 'Plan for the week:\nMon – prices and photos final\nTue – dry run of the checkout\nWed – mail to customers\nThu – quiet day\nFri – live at 10:00',
        pinnedBy: 'ada',
        reactions: { '👍': ['grace'] },
      },
      {
        ago: 521,
        by: 'grace',
        replyTo: 'plan',
        text: 'Can the dry run move to Tuesday afternoon? The payment provider has maintenance until 12:00.',
      },
      { ago: 517, by: 'ada', replyTo: 'plan', text: 'Yes. Tuesday at 14:00 then.' },
      { ago: 515, by: 'grace', replyTo: 'plan', text: 'Perfect, I have moved the invitation.' },
      { ago: 402, by: 'ada', text: 'How did yesterday go? Support said that the afternoon was busy.' },
      {
        ago: 396,
        by: 'grace',
        text: 'Busy, yes. The peak was between 15:00 and 16:00, with 74 orders.',
        picture: 'orders-per-hour',
        reactions: { '👀': ['ada'] },
      },
      {
        ago: 391,
        by: 'ada',
        text: 'Then Friday at 10:00 is a good time: four hours before the peak, with everybody awake.',
      },
      {
        ago: 248,
        by: 'grace',
        text: 'Prices are final. Two photos of the lamps are missing, the studio sends them tomorrow.',
      },
      {
        ago: 243,
        by: 'ada',
        name: 'question',
        text: '@assistant which points of this week are still open?',
      },
      {
        ago: 242,
        by: 'assistant',
        answerTo: 'question',
        text: 'Three points are open:\n1. Two photos of the lamps, due tomorrow from the studio.\n2. The dry run of the checkout, on Tuesday at 14:00.\n3. The mail to customers on Wednesday has no author yet.',
        reactions: { '👍': ['ada', 'grace'] },
      },
      { ago: 236, by: 'grace', text: 'I write the mail to customers. @ada will you proofread it?' },
      { ago: 233, by: 'ada', text: 'Gladly. Send me the draft by tomorrow evening.' },
      { ago: 41, by: 'ada', text: 'The studio was quicker than promised: both lamp photos are here.' },
      {
        ago: 38,
        by: 'ada',
        text: '@grace please have a look when you are back. Then prices and photos are done.',
      },
    ],
  },
  {
    title: 'Kitchen',
    unread: {},
    messages: [
      {
        ago: 312,
        by: 'grace',
        text: 'There is cake in the kitchen, and the coffee machine works again.',
        picture: 'cake',
        reactions: { '❤️': ['ada'], '🎉': ['ada', 'grace'] },
      },
      { ago: 309, by: 'ada', text: 'You have saved this afternoon. What is the occasion?' },
      { ago: 307, by: 'grace', text: 'My hundredth case without a complaint.' },
      {
        ago: 306,
        by: 'ada',
        text: 'Then it should have been a bigger cake!',
        reactions: { '😄': ['grace'] },
      },
      { ago: 171, by: 'grace', text: 'Two pieces are left. First come, first served.' },
    ],
  },
  {
    title: 'Chair wobbles after assembly',
    customer: { person: 'nils', byMail: false },
    assignee: 'grace',
    unread: { ada: 1 },
    messages: [
      {
        ago: 468,
        by: 'nils',
        external: true,
        text: 'Hello, I have put the chair together as in the leaflet, and it wobbles. Is it broken?',
      },
      { ago: 463, by: 'grace', text: 'Third one this month. I think it is the front left screw again.' },
      {
        ago: 461,
        by: 'ada',
        text: 'Offer a new set of screws if tightening does not help. No need to ask me.',
      },
      {
        ago: 458,
        by: 'grace',
        external: true,
        text: 'Hello Nils, thank you for writing, that is annoying. Most likely one screw is still loose: the one in the picture. Could you give it half a turn more?',
        picture: 'which-screw',
      },
      { ago: 431, by: 'nils', external: true, text: 'I found it. Half a turn, and it stands like a rock.' },
      {
        ago: 428,
        by: 'nils',
        external: true,
        text: 'Thank you! I would not have found that one alone.',
        reactions: { '❤️': ['grace'] },
      },
      {
        ago: 425,
        by: 'grace',
        external: true,
        text: 'Wonderful. If it ever wobbles again, write here and we send you a new set of screws.',
      },
      {
        ago: 420,
        by: 'grace',
        text: 'Solved. The leaflet should show this screw in red; I have asked for it.',
      },
    ],
  },
  {
    title: 'VAT number on invoice 2214',
    customer: { person: 'ines', byMail: true },
    assignee: 'ada',
    unread: { grace: 1 },
    messages: [
      {
        ago: 205,
        by: 'ines',
        external: true,
        text: 'Dear team,\n\nour VAT number is missing on invoice 2214:\n\nInvoice  2214\nAmount   1,190.00 EUR\nVAT no.  (empty, should be PT 509 442 013)\n\nCould you send us a corrected one?\n\nKind regards,\nInes Ferreira',
        mail: {
          html: '<p>Dear team,</p><p>our <b>VAT number is missing</b> on invoice 2214:</p><table border="1" cellpadding="4"><tr><td>Invoice</td><td>2214</td></tr><tr><td>Amount</td><td>1,190.00 EUR</td></tr><tr><td>VAT no.</td><td><i>empty, should be</i> PT 509 442 013</td></tr></table><p>Could you send us a corrected one?</p><p>Kind regards,<br>Ines Ferreira</p>',
        },
      },
      {
        ago: 199,
        by: 'ada',
        text: 'Their number was entered after the order. @grace can accounting reissue it today?',
      },
      { ago: 188, by: 'grace', text: 'They can, by 17:00. The old invoice is cancelled automatically.' },
      {
        ago: 184,
        by: 'ada',
        external: true,
        mail: 'sent',
        text: 'Dear Ines,\n\nthank you for telling us. You receive the corrected invoice today by 17:00; the old one is void.\n\nBest regards,\nAda Lovelace',
      },
      {
        ago: 62,
        by: 'ines',
        external: true,
        text: 'It is here. Thank you for being so quick!\n\nInes',
        mail: { html: '<p>It is here. <b>Thank you</b> for being so quick!</p><p>Ines</p>' },
      },
      { ago: 57, by: 'ada', text: 'Done. I leave the case open until accounting has booked it.' },
    ],
  },
  {
    title: 'Roadmap',
    unread: { ada: 3 },
    messages: [
      { ago: 352, by: 'ada', text: 'Ideas for the next quarter go here. One message each, please.' },
      {
        ago: 347,
        by: 'grace',
        text: 'Let customers choose the day of delivery.',
        reactions: { '👍': ['ada'] },
      },
      { ago: 130, by: 'grace', text: 'A page with all assembly leaflets, to search by product.' },
      { ago: 124, by: 'grace', text: 'Spare parts in the shop: every second case is about a screw.' },
      { ago: 96, by: 'grace', text: 'And photos of the chair from below. Really.' },
    ],
  },
];
