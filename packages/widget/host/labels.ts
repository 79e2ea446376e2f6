import type { WidgetLanguage } from '@parley/protocol/resources/widget-languages.ts';

/**
 * The names of the launcher and of its panel, which no other text of the widget's is needed for.
 */
export interface Labels {
  readonly open: string;
  readonly close: string;
  readonly title: string;
  readonly unread: string;
}

/** Returns the labels of a language. */
export function labelsIn(language: WidgetLanguage): Labels {
  const [open, close, title, unread] = LABELS[language].split('|') as [string, string, string, string];
  return { open, close, title, unread };
}

/** Each as one text, in the order of `labelsIn`, because every page of a shop loads all of them. */
const LABELS: Readonly<Record<WidgetLanguage, string>> = {
  en: 'Open the chat|Close the chat|Chat|unread',
  ar: 'افتح المحادثة|أغلق المحادثة|محادثة|غير مقروءة',
  de: 'Chat öffnen|Chat schließen|Chat|ungelesen',
  es: 'Abrir el chat|Cerrar el chat|Chat|sin leer',
  fr: 'Ouvrir le chat|Fermer le chat|Chat|non lus',
  it: 'Apri la chat|Chiudi la chat|Chat|non letti',
  ja: 'チャットを開く|チャットを閉じる|チャット|件の未読',
  nl: 'Chat openen|Chat sluiten|Chat|ongelezen',
  pl: 'Otwórz czat|Zamknij czat|Czat|nieprzeczytane',
  pt: 'Abrir o chat|Fechar o chat|Chat|não lidas',
  tr: 'Sohbeti aç|Sohbeti kapat|Sohbet|okunmamış',
  zh: '打开聊天|关闭聊天|聊天|条未读消息',
};
