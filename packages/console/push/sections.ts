import type { Item, Section } from '../administration/section.ts';
import { PUSH_APP_TEXTS, PUSH_CREDENTIAL_TEXTS } from '../administration/texts/channel-texts.ts';
import { texts } from '../texts/texts.ts';
import { AppState } from './app-state.tsx';

const RENEW = {
  label: texts.push.renew,
  operation: 'update_push_app',
  texts: PUSH_CREDENTIAL_TEXTS,
  warning: texts.push.renewWarning,
  doneText: () => texts.push.renewed,
};

const isOn =
  (service: string) =>
  ({ platform }: Item) =>
    platform === service;

/** The apps on phones that notifications are pushed to. */
export const PUSH_SECTIONS: readonly Section[] = [
  {
    slug: 'push-apps',
    texts: PUSH_APP_TEXTS,
    begin: () => ({ environment: 'production' }),
    title: texts.push.title,
    one: texts.push.one,
    about: texts.push.about,
    list: 'list_push_apps',
    get: 'get_push_app',
    create: 'create_push_app',
    update: 'update_push_app',
    columns: ['name', 'platform', 'identifier', 'last_success_at', 'failing_since'],
    omit: ['last_success_at', 'failing_since', 'last_error'],
    More: AppState,
    actions: [
      { ...RENEW, when: isOn('fcm'), fields: ['service_account'] },
      { ...RENEW, when: isOn('apns'), fields: ['private_key', 'key_id', 'team_id'] },
      {
        label: texts.push.delete,
        operation: 'delete_push_app',
        warning: texts.push.deleteWarning,
        isDanger: true,
        removes: true,
      },
    ],
  },
];
