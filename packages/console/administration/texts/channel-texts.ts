import { WIDGET_LANGUAGES } from '@parley/protocol/resources/widget-languages.ts';
import type { FieldTexts } from '../field-texts.ts';

export const INBOX_TEXTS: FieldTexts = {
  name: { label: 'Name', help: 'Customers see it beside the address.' },
  address: {
    label: 'Address',
    help: 'Mail to it becomes cases. Mail to an earlier address does not arrive any more.',
  },
  group_id: { label: 'Group', help: 'Answers are sent under its name. Empty: Customer Service.' },
  assignee_id: { label: 'Assignee', help: 'Who gets new cases. Empty: they are assigned to nobody.' },
};

export const WIDGET_TEXTS: FieldTexts = {
  name: { label: 'Name', help: 'For your team alone.' },
  sites: {
    label: 'Sites',
    help: 'Where the widget may be shown, each as https://shop.example, without anything behind it.',
  },
  enabled: {
    label: 'Shown on these sites',
    help: 'Otherwise nobody can begin a conversation; those that have begun go on.',
    isOn: true,
  },
  colors: { label: 'Colours' },
  'colors.light': { label: 'On light pages', help: 'Empty: the colour of the widget itself.' },
  'colors.dark': { label: 'On dark pages', help: 'Empty: the colour of the widget itself.' },
  group_id: { label: 'Group', help: 'Visitors see its name and picture. Empty: Customer Service.' },
  texts: { label: 'Texts', help: 'Empty: the texts of the widget itself.' },
  ...textsByLanguage(),
  hours: { label: 'Hours', help: 'When your team is there. Empty: always.' },
  'hours.timezone': { label: 'Time zone' },
  'hours.open': { label: 'Open' },
  'hours.open.day': { label: 'Day' },
  'hours.open.from': { label: 'From', help: 'Such as 09:00.' },
  'hours.open.to': { label: 'To', help: 'Such as 17:00. An earlier time than the first is on the next day.' },
  show_team: {
    label: 'Show the team',
    help: 'Visitors see the first names and the pictures of up to three people of the group.',
    isOn: false,
  },
  inbox_id: {
    label: 'Inbox',
    help: 'Answers that a customer with a confirmed address has not read are mailed from it. Empty: none are.',
  },
  identity_provider_id: {
    label: 'Who visitors are',
    help: 'A provider whose tokens your site hands over. Empty: visitors stay unknown until they confirm an address.',
    isForDevelopers: true,
  },
};

function textsByLanguage(): FieldTexts {
  const names = new Intl.DisplayNames('en', { type: 'language' });
  return Object.fromEntries(
    WIDGET_LANGUAGES.flatMap((language) => [
      [`texts.${language}`, { label: names.of(language)! }],
      [`texts.${language}.greeting`, { label: 'Greeting', help: 'What a visitor reads first.' }],
      [
        `texts.${language}.offline`,
        { label: 'While you are away', help: 'What a visitor reads outside of your hours.' },
      ],
    ]),
  );
}

export const WEBHOOK_TEXTS: FieldTexts = {
  url: { label: 'URL', help: 'Where events are sent, by POST. It begins with https://.' },
  event_types: { label: 'Events', help: 'What is sent.' },
  include_direct: {
    label: 'Include direct messages between people of the team',
    help: 'This is recorded in the audit.',
    isOn: false,
  },
  status: { label: 'Status', help: 'A disabled webhook is sent nothing.' },
  version: {
    label: 'Version',
    help: 'The form of what is sent. A preview may change; the current stable version does not.',
  },
};

export const REPLAY_TEXTS: FieldTexts = {
  since: { label: 'Since', help: 'Events from this time on are sent again.' },
};

export const CARD_SOURCE_TEXTS: FieldTexts = {
  url: {
    label: 'URL',
    help: 'Your application answers there with what it knows of a customer. It begins with https://. Empty: there are no cards.',
  },
};
