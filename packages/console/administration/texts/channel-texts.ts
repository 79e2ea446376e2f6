import { WIDGET_LANGUAGES } from '@parley/protocol/resources/widget-languages.ts';
import { inLanguage } from '@parley/ui/text/language.ts';
import { texts } from '../../texts/texts.ts';
import type { FieldTexts } from '../field-texts.ts';

const { cardSource, inbox, replay, webhook, widget, widgetTexts } = texts.administration.fields;

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
