/**
 * The words by which servers that write no fields of RFC 3464 say what became of a mail. Servers of
 * a kind say it in their own sentences, so each row has what is common to them: a word of delivery
 * beside one of failure. Letter case does not count, and a blank stands for any white space.
 */
export const REPORT_WORDS = {
  /** The mail is given up. */
  failed: [
    // English: undeliverable; could not be delivered, unable to deliver; delivery has failed,
    // failed delivery, an error while delivering; did not reach; recipients that had errors.
    /\bundeliver(able|ed)\b/,
    /(\bnot|n't|\bunable to|\btrouble)( \w+){0,2} deliver/,
    /\bdel[ie]very\b[^.]{0,80}\b(fail(ed|ure)|aborted|error)/,
    /\b(errors?|fail(ed|ure))\b[^.]{0,40}\bdeliver/,
    /\bdid not reach\b/,
    /\b(address(es|\(es\))?|recipients?)\b[^.:]{0,40}\b(errors|problems|failed|rejected|follow:)/,
    /\b(returned mail|failure notice|notice: failure|returning (message )?to (the )?sender)\b/,
    /\b(failure reasons|transcript of session follows)\b/,
    /\bmail failure\b|\bmalformed (recipient )?address/,
    // German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian.
    /\bnicht (zugestellt|erreicht|zustellbar)|unzustellbar/,
    /\bpas (pu )?(été |être )?(remis|délivré|distribué)|échec de (la )?(remise|livraison|distribution)/,
    /\bno (se )?(ha podido|pudo|puede|han podido)( ser)? entrega|\bno entregad|error de entrega/,
    /\b(impossibile|non è stato possibile|mancat[ao]) (recapit|consegn)/,
    /\bnão (foi|pôde ser|pode ser|foi possível) entreg|falha na entrega/,
    /\bniet (worden )?(afgeleverd|bezorgd)|onbestelbaar/,
    /\bnie (została|może zostać|można) (dostarcz)|niedostarczon/,
    /не (было |может быть |удалось )?доставлен|не удалось доставить|недоставлен/,
    // Japanese, Chinese, Korean.
    /(送信|配信|配送|お届け)(が)?でき(ません|なかった)|(送信|配信)に失敗|メールエラー通知/,
    /(无法|無法)(投递|投遞|送达|送達|传递|傳遞)|(投递失败|投遞失敗)|退信/,
    /(전송|전달|배달)(하지|되지|할 수) ?(못|않|없)|반송/,
  ],
  /** The server goes on trying. */
  delayed: [
    /\bdeliver(y|ing|ed)? (is |has been |status notification \(|temporarily )?(delayed?|suspended)/,
    /\b(has|have) not (yet )?been delivered\b|\bnot yet been delivered\b/,
    /\bwill (continue to |keep )?(try|trying|retry|be retried)\b|\bdelayed mail\b/,
    /\bwarning message only\b|\bmessage is delayed for\b|\bverzögerte zustellung\b/,
  ],
  /** The line from which on the report has the mail that it is about. */
  returned: [
    /^[^a-z\n]*(below (this line )?is |this is )?a copy of (the|your) (original )?message/,
    /^[^a-z\n]*(the )?(headers? of the )?(original|unsent|undelivered|returned|bounced) (message|e?-?mail)( info| headers?)?( is following| follows?)?[^a-z\n]*$/,
    /^[^a-z\n]*message (headers?|text) follows?\b/,
    /^(>|[^\S\n])*(received|return-path|dkim-signature|x-originating-ip): /,
  ],
};
