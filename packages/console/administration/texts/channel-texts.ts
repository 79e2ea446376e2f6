import { WIDGET_LANGUAGES } from '@parley/protocol/resources/widget-languages.ts';
import { inLanguage } from '@parley/ui/text/language.ts';
import { texts } from '../../texts/texts.ts';
import type { FieldTexts } from '../field-texts.ts';

const { cardSource, inbox, pushApp, pushCredential, replay, webhook, widget, widgetTexts } =
  texts.administration.fields;

export const INBOX_TEXTS: FieldTexts = inbox;

export const WIDGET_TEXTS: FieldTexts = {
  ...widget,
  enabled: { ...widget.enabled, isOn: true },
  ...textsByLanguage(),
  show_team: { ...widget.show_team, isOn: false },
  identity_provider_id: { ...widget.identity_provider_id, isForDevelopers: true },
};

function textsByLanguage(): FieldTexts {
  const names = inLanguage((locale) => new Intl.DisplayNames(locale, { type: 'language' }))();
  return Object.fromEntries(
    WIDGET_LANGUAGES.flatMap((language) => [
      [`texts.${language}`, { label: names.of(language)! }],
      [`texts.${language}.greeting`, widgetTexts.greeting],
      [`texts.${language}.offline`, widgetTexts.offline],
    ]),
  );
}

export const WEBHOOK_TEXTS: FieldTexts = {
  ...webhook,
  include_direct: { ...webhook.include_direct, isOn: false },
};

export const REPLAY_TEXTS: FieldTexts = replay;

export const CARD_SOURCE_TEXTS: FieldTexts = cardSource;

const [GOOGLE, APPLE] = [{ goesWith: { platform: 'fcm' } }, { goesWith: { platform: 'apns' } }];

export const PUSH_APP_TEXTS: FieldTexts = {
  ...pushApp,
  service_account: { ...pushApp.service_account, ...GOOGLE, isRequired: true },
  topic: { ...pushApp.topic, ...APPLE, isRequired: true },
  environment: { ...pushApp.environment, ...APPLE, isRequired: true },
  team_id: { ...pushApp.team_id, ...APPLE, isRequired: true },
  key_id: { ...pushApp.key_id, ...APPLE, isRequired: true },
  private_key: { ...pushApp.private_key, ...APPLE, isRequired: true },
};

/** The fields of another credential for an app that exists. */
export const PUSH_CREDENTIAL_TEXTS: FieldTexts = {
  service_account: { ...pushApp.service_account, isRequired: true },
  private_key: { ...pushApp.private_key, isRequired: true },
  key_id: { ...pushApp.key_id, isRequired: true },
  team_id: pushCredential.team_id,
};
