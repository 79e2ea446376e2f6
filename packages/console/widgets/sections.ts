import { h } from 'preact';
import type { Section } from '../administration/section.ts';
import { WIDGET_TEXTS } from '../administration/texts/channel-texts.ts';
import { texts } from '../texts/texts.ts';
import { WidgetPreview } from './widget-preview.tsx';
import { WidgetSnippet } from './widget-snippet.tsx';

/** Chats that pages embed. */
export const WIDGET_SECTIONS: readonly Section[] = [
  {
    slug: 'widgets',
    texts: WIDGET_TEXTS,
    beside: (value) => h(WidgetPreview, { value }),
    title: texts.widgets.title,
    one: texts.widgets.one,
    about: texts.widgets.about,
    list: 'list_widgets',
    get: 'get_widget',
    create: 'create_widget',
    update: 'update_widget',
    columns: ['name', 'sites', 'enabled', 'created_at'],
    actions: [
      {
        label: texts.widgets.delete,
        operation: 'delete_widget',
        warning: texts.widgets.deleteWarning,
        isDanger: true,
        removes: true,
      },
    ],
    More: WidgetSnippet,
  },
];
