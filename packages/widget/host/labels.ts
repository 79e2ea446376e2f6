import type { WidgetLanguage } from '@parley/protocol/resources/widget-languages.ts';

/**
 * The names of the launcher and of its panel, which no other text of the widget's is needed for.
 */
export interface Labels {
  readonly open: string;
  readonly close: string;
  readonly title: string;
  readonly unread: string;
  readonly news: string;
}

/** Returns the labels of a language. */
export function labelsIn(language: WidgetLanguage): Labels {
  const [open, close, title, unread, news] = LABELS[language].split('|') as Five;
  return { open, close, title, unread, news };
}

type Five = [string, string, string, string, string];

/** Each as one text, in the order of `labelsIn`, because every page of a shop loads all of them. */
const LABELS: Readonly<Record<WidgetLanguage, string>> = {
  en: 'Open the chat|Close the chat|Chat|unread|New answer',
  ar: 'افتح المحادثة|أغلق المحادثة|محادثة|غير مقروءة|رد جديد',
  de: 'Chat öffnen|Chat schließen|Chat|ungelesen|Neue Antwort',
  es: 'Abrir el chat|Cerrar el chat|Chat|sin leer|Respuesta nueva',
  fr: 'Ouvrir le chat|Fermer le chat|Chat|non lus|Nouvelle réponse',
  it: 'Apri la chat|Chiudi la chat|Chat|non letti|Nuova risposta',
  ja: 'チャットを開く|チャットを閉じる|チャット|件の未読|新しい返信',
  nl: 'Chat openen|Chat sluiten|Chat|ongelezen|Nieuw antwoord',
  pl: 'Otwórz czat|Zamknij czat|Czat|nieprzeczytane|Nowa odpowiedź',
  pt: 'Abrir o chat|Fechar o chat|Chat|não lidas|Nova resposta',
  tr: 'Sohbeti aç|Sohbeti kapat|Sohbet|okunmamış|Yeni yanıt',
  zh: '打开聊天|关闭聊天|聊天|条未读消息|新回复',
};
